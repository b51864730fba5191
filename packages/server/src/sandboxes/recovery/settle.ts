import { finishPause } from '../change/pause.js';
import { unquiesceSandbox } from '../change/quiesce.js';
import { resumeMoved } from '../change/resume-moved.js';
import type { SandboxPorts, StartPorts } from '../context.js';
import { finishKill, watchInstance } from '../kill.js';
import { dropCheckpoint } from '../records/checkpoints.js';
import { changeRow, release, removeRow } from '../records/rows.js';
import { isMoving, notMovingPatch } from '../state/config.js';
import type { LiveSandbox } from '../state/live.js';
import { decideRecovery } from './decide.js';

/** Makes the row and the instance of one sandbox agree after an interrupted transition. Idempotent. */
export async function settle(
  context: StartPorts,
  live: LiveSandbox,
  found: {
    /** It lives, running or frozen. */
    instance: boolean;
    /** The stored state that the row names is whole. */
    checkpoint: boolean;
  },
): Promise<'adopted' | 'paused' | 'removed'> {
  const { row } = live;
  const endedAtMs = row.paused_at ?? context.now();
  switch (decideRecovery({ state: row.state, ...found })) {
    case 'run':
      await live.instance!.thaw();
      if (row.state !== 'running') await backToRunning(context, live);
      live.run += 1;
      watchInstance(context, live);
      return 'adopted';
    case 'keep-frozen':
      await live.instance!.freeze();
      if (row.state !== 'paused') await changeRow(context, live, () => ({ state: 'paused' }));
      return 'paused';
    case 'keep-stored':
      await live.instance?.destroy();
      live.instance = undefined;
      if (row.state === 'pausing') await finishPause(context, live);
      // Until now it was on its way to another node: it continues here, and may be moved again.
      if (isMoving(live.row)) {
        await resumeMoved(context, live);
        release(context, live);
        return live.instance === undefined ? 'paused' : 'adopted';
      }
      if (row.state !== 'paused' && row.state !== 'pausing')
        await changeRow(context, live, () => ({ state: 'paused', instance_id: null }));
      release(context, live);
      return 'paused';
    case 'forget':
      await live.instance?.destroy();
      live.instance = undefined;
      await removeRow(context, live);
      return 'removed';
    case 'finish-kill':
      await finishKill(context, live, 'request', endedAtMs);
      return 'removed';
    case 'orphaned':
      await finishKill(context, live, 'orphaned', endedAtMs);
      return 'removed';
  }
}

/** The unfinished checkpoint is of no use: the instance is what counts. */
async function backToRunning(context: SandboxPorts, live: LiveSandbox): Promise<void> {
  const checkpointId = live.row.state === 'pausing' ? live.row.checkpoint_id : null;
  // The daemon may still be waiting for a checkpoint that was abandoned.
  const patch = await unquiesceSandbox(context, live);
  await changeRow(context, live, (row) => ({
    ...patch,
    ...notMovingPatch(row),
    state: 'running',
    checkpoint_id: null,
    paused_memory: 0,
  }));
  if (checkpointId !== null) await dropCheckpoint(context, checkpointId);
}
