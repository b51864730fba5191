import type { Retries } from '../../api/context/retries.js';
import type { StartPorts, Uses } from '../context.js';
import { watchInstance } from '../kill.js';
import { changeRow } from '../records/rows.js';
import { begin } from '../records/transition.js';
import { enforceAdoptedEgress } from '../start/enforce-egress.js';
import { isMoving } from '../state/config.js';
import { isBetweenStates, type LiveSandbox, type SandboxRepairs, type Transition } from '../state/live.js';
import { endedOnOtherNode } from './ended-on-other-node.js';
import { settle } from './settle.js';

/** @param context a function, because the context contains what is made here. */
export function createRepairs(context: () => StartPorts, retries: Retries): SandboxRepairs {
  const now = (live: LiveSandbox) => repair(context(), live);
  return {
    now,
    later: (live) => retries.add(`repair of sandbox ${live.row.id}`, () => now(live)),
  };
}

/** Does for one sandbox what the recovery after a crash would do. */
async function repair(context: StartPorts, live: LiveSandbox): Promise<void> {
  // A running transition comes back here when it fails.
  if (live.transition !== undefined || context.sandboxes.get(live.row.id) !== live) return;
  // Reads the row again when the outcome of its last change is unknown.
  await changeRow(context, live, () => undefined).catch(async (error: unknown) => {
    if (!live.deleted) throw error;
    await endedOnOtherNode(context, live);
  });
  if (live.deleted) return;
  const held = live.instance !== undefined;
  const found = await lookFor(context, live);
  if (live.deleted || live.transition !== undefined) return;
  const { state } = live.row;
  if (!isBetweenStates(state) && (state === 'paused' || (held && found.instance))) {
    // A sandbox that a start adopted and could not recover at once is not watched yet. To watch it twice does no harm.
    if (state === 'running') watchInstance(context, live);
    return;
  }
  await begin(context, live, shownDuringRepair[state], () => settle(context, live, found), {
    ...(isMoving(live.row) ? { moving: true as const } : {}),
  });
}

async function lookFor(
  context: StartPorts,
  live: LiveSandbox,
): Promise<{ instance: boolean; checkpoint: boolean }> {
  const { id, checkpoint_id: checkpointId } = live.row;
  const instance = await context.driver.adopt(id);
  if (instance !== undefined) await enforceAdoptedEgress(context, live.row, instance);
  // One that has ended is kept, to be cleared away.
  live.instance = instance ?? live.instance;
  if (checkpointId === null) return { instance: instance !== undefined, checkpoint: false };
  return { instance: instance !== undefined, checkpoint: await hasCheckpoint(context, checkpointId) };
}

/** Returns whether a stored state is whole, whichever server made it. */
async function hasCheckpoint({ driver }: Uses<'driver'>, id: string): Promise<boolean> {
  if (driver.shared !== undefined) return driver.shared.hasCheckpoint(id);
  return (await driver.listCheckpoints()).some((checkpoint) => checkpoint.id === id);
}

/** The transition that others see while a sandbox is repaired. */
export const shownDuringRepair: Record<LiveSandbox['row']['state'], Transition['kind']> = {
  creating: 'creating',
  running: 'killing',
  pausing: 'pausing',
  snapshotting: 'snapshotting',
  killing: 'killing',
  paused: 'resuming',
  resuming: 'resuming',
};
