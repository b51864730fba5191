import type { Client, Sandbox } from '@svc/sdk';
import { CliError } from '../../errors/cli-error.js';

/** Life of the sandbox that a connection begins with, ms; it is extended while the connection is open. */
const lifeMs = 120_000;

/**
 * A sandbox by its id or its name (`metadata.name`), resumed when it is paused.
 * @throws {CliError} when there is none, or several of that name
 */
export async function findSandbox(client: Client, idOrName: string, signal: AbortSignal): Promise<Sandbox> {
  const { InvalidRequestError, NotFoundError } = await import('@svc/sdk');
  const options = { timeoutMs: lifeMs, signal };
  try {
    return await client.sandboxes.connect(idOrName, options);
  } catch (error) {
    // A name is often no possible id.
    if (!NotFoundError.is(error) && !InvalidRequestError.is(error)) throw error;
  }
  const { items } = await client.sandboxes.list({ metadata: { name: idOrName }, limit: 2, signal });
  const [found] = items;
  if (found === undefined)
    throw new CliError(`There is no sandbox with the id or name ${JSON.stringify(idOrName)}.`, {
      code: 'not_found',
      hint: '`svc sandbox list` shows those that run or are paused.',
    });
  if (items.length > 1)
    throw new CliError(`Several sandboxes have the name ${JSON.stringify(idOrName)}.`, {
      code: 'not_unique',
      hint: 'Use the id: `svc sandbox list` shows it.',
    });
  return client.sandboxes.connect(found.sandboxId, options);
}
