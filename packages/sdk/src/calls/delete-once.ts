import type { CallContext } from '../core/call-context.js';
import { NotFoundError } from '../errors/not-found-errors.js';

/**
 * Deletes something: true when it was there. "Not found" is false, unless an earlier attempt of the same call broke off
 * and most likely did it.
 */
export async function deleteOnce<Context extends Omit<CallContext, 'service'>>(
  context: Context,
  send: (context: Context) => Promise<unknown>,
): Promise<boolean> {
  let attempts = 0;
  try {
    await send({
      ...context,
      onAttempt: (attempt) => {
        attempts = attempt;
      },
    });
    return true;
  } catch (error) {
    if (NotFoundError.is(error)) return attempts > 1;
    throw error;
  }
}
