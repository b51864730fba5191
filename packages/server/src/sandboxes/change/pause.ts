import { DriverError } from '@svc/runtime/contract';
import { recordSystemAct } from '../../api/audit/audit-trail.js';
import type { Team } from '../../api/auth/team-store.js';
import { errors } from '../../api/errors/catalog.js';
import { assertTeamStorage } from '../../teams/quota/storage-use.js';
import type { RowPorts, SandboxPorts, StartPorts, Uses } from '../context.js';
import { executionData, lifecycleEvent } from '../events/lifecycle-events.js';
import { recordCheckpoint, recordCheckpointSize } from '../records/checkpoints.js';
import { changeRow, release } from '../records/rows.js';
import { admit, begin } from '../records/transition.js';
import { checkpointError } from '../start/placement-error.js';
import { isMoving, movingPatch, notMovingPatch } from '../state/config.js';
import type { LiveSandbox } from '../state/live.js';
import { collectLogs } from '../telemetry/collect-logs.js';
import { quiesceSandbox, unquiesceSandbox } from './quiesce.js';

/**
 * Pauses a running sandbox. Several at once share one pause.
 * @param memory false keeps the files only.
 * @throws {ApiError} 404 unknown; 409 paused or in another transition; 429 when the team's disk is full; 500, 503
 */
export async function pauseSandbox(
  context: StartPorts,
  team: Team,
  sandboxId: string,
  memory: boolean,
): Promise<void> {
  // Not where a sandbox is paused because its time is over: it would be lost.
  await assertTeamStorage(context, team);
  const admission = await admit(context, team.id, sandboxId, 'pause');
  await (admission.kind === 'join' ? admission.result : pauseLive(context, admission.live, memory));
}

/**
 * Pauses a sandbox that runs and is in no transition.
 * @param options `timedOut`: nobody asked for it
 */
export function pauseLive(
  context: SandboxPorts,
  live: LiveSandbox,
  memory: boolean,
  options: { timedOut?: boolean } = {},
): Promise<void> {
  return begin(context, live, 'pausing', () => storeSandbox(context, live, memory, options)).finally(() =>
    release(context, live),
  );
}

/**
 * Stores a running sandbox, as the work of a transition. What fails leaves it running.
 * @param options `timedOut`: no client requested it; `moving`: it is to continue on another node, and keeps its place among the running ones
 */
export async function storeSandbox(
  context: SandboxPorts,
  live: LiveSandbox,
  memory: boolean,
  options: { timedOut?: boolean; moving?: boolean },
): Promise<void> {
  // Without memory snapshots the memory stays where it is: frozen, in RAM.
  const freeze = memory && !context.driver.capabilities.memorySnapshot;
  const { instance } = live;
  if (instance === undefined) throw errors.internal(new Error('a running sandbox without an instance'));
  await collectLogs(context, live, { timeoutMs: 2_000 }).catch(() => {});
  context.sandboxClosed(live.row.id, 'paused');
  const checkpointId = freeze ? null : `pause-${context.ids.uuid()}`;
  await changeRow(
    context,
    live,
    (row) => ({
      state: 'pausing',
      checkpoint_id: checkpointId,
      paused_memory: memory ? 1 : 0,
      ...(options.moving === true ? movingPatch(row) : {}),
    }),
    checkpointId === null
      ? undefined
      : (tx, row) =>
          recordCheckpoint(
            context,
            tx,
            checkpointId,
            { owner_kind: 'sandbox', owner_id: row.id, team_id: row.team_id },
            memory,
          ),
  );
  let sizeBytes: number | undefined;
  try {
    if (checkpointId !== null && memory)
      await quiesceSandbox(context, live, checkpointId).catch((error: unknown) => {
        // Its time may be over: a daemon that does not answer must not keep the sandbox running.
        context.log.warn(
          { err: error, sandboxId: live.row.id },
          'a daemon could not be quiesced for the pause',
        );
      });
    if (checkpointId === null) await instance.freeze();
    else ({ sizeBytes } = await instance.checkpoint({ checkpointId, memory, then: 'destroy' }));
  } catch (error) {
    await backToRunning(context, live, checkpointId, memory);
    throw checkpointError(live.row.id, 'pausing', error);
  }
  if (checkpointId !== null) live.instance = undefined;
  await finishPause(context, live, { sizeBytes, timedOut: options.timedOut });
}

/**
 * The last half, which recovery does again after a crash.
 * @param options `sizeBytes`: what the stored state takes; `timedOut`: nobody asked for it
 */
export async function finishPause(
  context: RowPorts & Uses<'ids' | 'now'>,
  live: LiveSandbox,
  options: { sizeBytes?: number | undefined; timedOut?: boolean | undefined } = {},
): Promise<void> {
  const { sizeBytes, timedOut = false } = options;
  await changeRow(
    context,
    live,
    (row) => ({
      state: isMoving(row) ? 'resuming' : 'paused',
      paused_at: context.now(),
      instance_id: live.instance === undefined ? null : row.id,
    }),
    async (tx, row) => {
      if (row.checkpoint_id !== null && sizeBytes !== undefined)
        await recordCheckpointSize(tx, row.checkpoint_id, sizeBytes);
      await context.events.emit(
        tx,
        lifecycleEvent('sandbox.lifecycle.paused', row, executionData(row, row.paused_at ?? context.now())),
      );
      const reason = timedOut ? 'timeout' : isMoving(row) ? 'drain' : undefined;
      if (reason !== undefined)
        await recordSystemAct(context, tx, { reason, operation: 'pauseSandbox' }, row);
    },
  );
}

async function backToRunning(
  context: SandboxPorts,
  live: LiveSandbox,
  checkpointId: string | null,
  memory: boolean,
): Promise<void> {
  if (checkpointId !== null)
    await context.driver.deleteCheckpoint(checkpointId).catch((error: unknown) => {
      if (!DriverError.is(error) || error.code !== 'not_found')
        context.log.warn({ err: error }, 'a broken checkpoint stays');
    });
  const patch = checkpointId !== null && memory ? await unquiesceSandbox(context, live) : {};
  await changeRow(
    context,
    live,
    (row) => ({
      ...patch,
      ...notMovingPatch(row),
      state: 'running',
      checkpoint_id: null,
      paused_memory: 0,
    }),
    checkpointId === null
      ? undefined
      : async (tx) => {
          await tx.deleteFrom('checkpoints').where('id', '=', checkpointId).execute();
        },
  );
}
