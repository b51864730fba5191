import type { SandboxPorts } from '../context.js';
import { forget } from '../records/rows.js';
import type { LiveSandbox } from '../state/live.js';

/**
 * Lets go of a sandbox that is not this node's any more, as it was out of reach: another node has taken it over, or its row is
 * deleted, and then its instance ends.
 */
export async function endedOnOtherNode(
  context: Pick<SandboxPorts, 'db' | 'driver' | 'log' | 'sandboxClosed' | 'sandboxes'>,
  live: LiveSandbox,
): Promise<void> {
  const { id } = live.row;
  const row = await context.db.selectFrom('sandboxes').select('id').where('id', '=', id).executeTakeFirst();
  forget(context, live);
  if (row !== undefined) {
    context.log.warn({ sandboxId: id }, 'a sandbox was taken over by another node while this one was silent');
    await context.driver.shared?.release(id);
    live.instance = undefined;
    return;
  }
  context.sandboxClosed(id, 'killed');
  await live.instance?.destroy().catch((error: unknown) => {
    context.log.error({ err: error, sandboxId: id }, 'the instance of a killed sandbox could not be ended');
  });
  live.instance = undefined;
}
