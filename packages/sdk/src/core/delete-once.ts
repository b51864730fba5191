import { NotFoundError } from './errors/not-found-errors.js';
import type { PlatformCallContext } from './platform-call.js';

/**
 * Deletes something: true when it was there. "Not found" is false, unless an earlier attempt of the same call broke off
 * and most likely did it.
 */
export async function deleteOnce(
  context: PlatformCallContext,
  send: (context: PlatformCallContext) => Promise<unknown>,
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
