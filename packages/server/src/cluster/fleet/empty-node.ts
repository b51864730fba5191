import { sideBySide } from '../../api/context/concurrent.js';
import { pauseHeld } from '../../sandboxes/change/pause.js';
import type { SandboxPorts } from '../../sandboxes/context.js';

/** How many sandboxes are paused at the same time, at most. */
const SIDE_BY_SIDE = 2;

/** Pauses what runs on this node while an operator empties it: see `drainNode`. Those in transition are looked at again. */
export async function emptyNode(context: SandboxPorts): Promise<void> {
  if (context.nodes.drain !== 'pause' || context.nodes.taken) return;
  const running = [...context.sandboxes.values()].filter(
    (live) => live.row.state === 'running' && live.transition === undefined,
  );
  const memory = context.driver.capabilities.memorySnapshot;
  await sideBySide(running, SIDE_BY_SIDE, async (live) => {
    if (live.transition !== undefined || live.gone || live.row.state !== 'running') return;
    try {
      await pauseHeld(context, live, memory);
    } catch (error) {
      context.log.warn(
        { err: error, sandboxId: live.row.id },
        'a sandbox of a drained node stays: it cannot be paused',
      );
    }
  });
}
