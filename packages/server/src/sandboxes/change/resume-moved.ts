import { ApiError } from '../../api/errors/api-error.js';
import type { SandboxPorts, Uses } from '../context.js';
import { changeRow } from '../records/rows.js';
import { notMovingPatch } from '../state/config.js';
import type { LiveSandbox } from '../state/live.js';
import { finishResume, restore } from './resume.js';

/**
 * Resumes a sandbox that was stored for a move on this node, to which its row belongs, as the work of a transition: to the same end
 * of life, and in the place among those that run that it never gave up. One that cannot be started stays paused.
 * @throws a failure that may be over at the next try; the row still says that it is to be resumed
 */
export async function resumeMoved(context: SandboxPorts & Uses<'volumes'>, live: LiveSandbox): Promise<void> {
  // From here on no node that was asked before can take it over.
  await changeRow(context, live, () => ({ state: 'resuming' }));
  const executionId = context.ids.uuid();
  try {
    await restore(context, live, executionId, false);
  } catch (error) {
    if (!isFinal(error) || context.signal.aborted) throw error;
    context.log.error(
      { err: error, sandboxId: live.row.id },
      'a sandbox that was moved could not be started: it stays paused',
    );
    await changeRow(context, live, (row) => ({ state: 'paused', ...notMovingPatch(row) }));
    return;
  }
  const { row } = live;
  await finishResume(context, live, {
    executionId,
    endAt: () => row.end_at,
    ...notMovingPatch(row),
    because: 'drain',
  });
}

/** Returns whether a start that failed would fail again: the stored state cannot be used. */
function isFinal(error: unknown): boolean {
  return (
    ApiError.is(error) &&
    (error.status === 500 || error.status < 500 || error.errorCode === 'sandbox_no_compatible_node')
  );
}
