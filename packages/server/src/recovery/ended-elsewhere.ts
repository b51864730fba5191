import type { LiveSandbox } from '../sandbox-state/live.js';
import type { SandboxPorts } from '../sandboxes/ports.js';
import { forget } from '../sandboxes/rows.js';

/** Ends the instance of a sandbox whose row somebody else removed, while this node was out of reach. */
export async function endedElsewhere(
  context: Pick<SandboxPorts, 'log' | 'sandboxClosed' | 'sandboxes'>,
  live: LiveSandbox,
): Promise<void> {
  forget(context, live);
  context.sandboxClosed(live.row.id, 'killed');
  await live.instance?.destroy().catch((error: unknown) => {
    context.log.error(
      { err: error, sandboxId: live.row.id },
      'the instance of a killed sandbox could not be ended',
    );
  });
  live.instance = undefined;
}
