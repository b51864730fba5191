import { recordSystemAct } from '../../api/audit/audit-trail.js';
import type { SystemReason } from '../../api/audit/entry.js';
import type { Team } from '../../api/auth/team-store.js';
import { errors } from '../../api/errors/catalog.js';
import { toJson } from '../../storage/json.js';
import { assertTeamEgress } from '../../teams/quota/egress-month.js';
import { assertTeamRoom } from '../../teams/quota/team-room.js';
import type { RowPorts, SandboxPorts, StartPorts, Uses } from '../context.js';
import { initDaemon } from '../daemon/daemon-control.js';
import { lifecycleEvent } from '../events/lifecycle-events.js';
import { watchInstance } from '../kill.js';
import { dropCheckpoint, recordCheckpoint } from '../records/checkpoints.js';
import { changeRow, release } from '../records/rows.js';
import { admit, begin } from '../records/transition.js';
import { checkTimeout } from '../records/ttl.js';
import { bootInstance } from '../start/boot.js';
import { takePlace } from '../start/capacity.js';
import { countSpawn } from '../start/create.js';
import { checkpointError, placementError } from '../start/placement-error.js';
import { assertVolumesExist } from '../start/volume-mounts.js';
import { configOf } from '../state/config.js';
import type { LiveSandbox, SandboxRow } from '../state/live.js';
import { daemonToken, imageToken, nextDaemonToken } from '../state/sandbox-tokens.js';
import { resetLogCursor } from '../telemetry/collect-logs.js';

export interface ResumeOptions {
  team: Team;
  sandboxId: string;
  /** Time to live of the new run, seconds. */
  timeoutSeconds: number;
  /** Replaces the sandbox's setting. */
  autoPause?: boolean | undefined;
  /** False: boot afresh on the stored files. Default: with memory when there is one. */
  memory?: boolean | undefined;
  /** It wakes for a request into it. */
  forTraffic?: boolean | undefined;
}

/**
 * Wakes a paused sandbox. Several at once share one start.
 * @throws {ApiError} 400, 404, 409 (running, or something else is under way), 429, 500, 503, 504
 */
export async function resumeSandbox(context: StartPorts, options: ResumeOptions): Promise<SandboxRow> {
  checkTimeout(options.timeoutSeconds, options.team.limits);
  const admission = await admit(context, options.team.id, options.sandboxId, 'resume');
  if (admission.kind !== 'join') return resumeLive(context, admission.live, options);
  await admission.result;
  return admission.live.row;
}

/** Wakes a sandbox that is paused and in no transition. */
export function resumeLive(
  context: StartPorts,
  live: LiveSandbox,
  options: Omit<ResumeOptions, 'sandboxId'>,
): Promise<SandboxRow> {
  return begin(context, live, 'resuming', async () => {
    await assertVolumesExist(context, live.row, configOf(live.row).mounts);
    await assertTeamEgress(context, options.team);
    const givePlaceBack = takePlace(context);
    const cold = options.memory === false;
    await changeRow(
      context,
      live,
      () => ({ state: 'resuming' }),
      (tx, row) => assertTeamRoom(tx, options.team, row),
    ).finally(givePlaceBack);
    const before = live.row;
    const executionId = context.ids.uuid();
    try {
      if (live.instance !== undefined && cold) await storeFrozen(context, live);
      if (live.instance !== undefined) await thaw(context, live, executionId);
      else await restore(context, live, executionId, cold);
    } catch (error) {
      await changeRow(context, live, () => ({ state: 'paused' }));
      throw error;
    }
    await finishResume(context, live, {
      executionId,
      endAt: (startedAtMs) => startedAtMs + options.timeoutSeconds * 1000,
      ...(options.autoPause === undefined
        ? {}
        : { config: toJson({ ...configOf(before), autoPause: options.autoPause }) }),
      ...(options.forTraffic === true ? { because: 'traffic' } : {}),
    });
    return live.row;
  }).finally(() => release(context, live));
}

/** Records that a sandbox whose instance continues runs again. */
export async function finishResume(
  context: SandboxPorts,
  live: LiveSandbox,
  given: {
    executionId: string;
    /** When the run ends, milliseconds since the epoch, by when it started. */
    endAt(startedAtMs: number): number;
    /** Replaces the row's. */
    config?: SandboxRow['config'];
    /** The reason why the service woke it, where no client requested that. */
    because?: SystemReason;
  },
): Promise<void> {
  const { because, config, executionId } = given;
  const usedCheckpoint = live.row.checkpoint_id;
  await changeRow(
    context,
    live,
    (row) => {
      // Read once: a run of 300 s lasts 300,000 ms by its own record.
      const startedAtMs = context.now();
      return {
        state: 'running',
        execution_id: executionId,
        daemon_generation: row.daemon_generation + 1,
        instance_id: row.id,
        checkpoint_id: null,
        paused_memory: 0,
        paused_at: null,
        started_at: startedAtMs,
        end_at: given.endAt(startedAtMs),
        ...(config === undefined ? {} : { config }),
      };
    },
    async (tx, row) => {
      await context.events.emit(tx, lifecycleEvent('sandbox.lifecycle.resumed', row));
      await countSpawn(tx, row.template_id, row.started_at);
      if (because !== undefined)
        await recordSystemAct(context, tx, { reason: because, operation: 'resumeSandbox' }, row);
    },
  );
  live.run += 1;
  watchInstance(context, live);
  if (usedCheckpoint !== null) await dropCheckpoint(context, usedCheckpoint);
}

/** The daemon's token as the row has it, and the next: a failed resume may have sent it already. */
function tokensOf(context: Uses<'keys'>, row: SandboxRow): string[] {
  return [daemonToken(context.keys, row), nextDaemonToken(context.keys, row)];
}

/** Resumes a sandbox that was frozen in RAM. */
async function thaw(
  context: Uses<'config' | 'keys' | 'now'>,
  live: LiveSandbox,
  executionId: string,
): Promise<void> {
  const instance = live.instance!;
  await instance.thaw().catch((error) => {
    throw placementError(error, false);
  });
  try {
    await initDaemon(
      instance,
      {
        accessToken: nextDaemonToken(context.keys, live.row),
        timestamp: new Date(context.now()).toISOString(),
        lifecycleID: executionId,
      },
      { tokens: tokensOf(context, live.row), timeoutMs: context.config.placementTimeoutMs },
    );
  } catch (error) {
    await instance.freeze();
    throw errors.createFailed('the sandbox does not answer', error);
  }
}

/** Turns a sandbox frozen in RAM into stored files, so that it can boot afresh. */
async function storeFrozen(context: RowPorts & Uses<'ids' | 'now'>, live: LiveSandbox): Promise<void> {
  const checkpointId = `pause-${context.ids.uuid()}`;
  const { instance, row } = live;
  await changeRow(
    context,
    live,
    () => ({ checkpoint_id: checkpointId, paused_memory: 0 }),
    (tx) =>
      recordCheckpoint(
        context,
        tx,
        checkpointId,
        { owner_kind: 'sandbox', owner_id: row.id, team_id: row.team_id },
        false,
      ),
  );
  try {
    await instance!.checkpoint({ checkpointId, memory: false, then: 'destroy' });
    live.instance = undefined;
  } catch (error) {
    await changeRow(context, live, () => ({ checkpoint_id: null, paused_memory: 1 }));
    throw checkpointError(row.id, 'storing', error);
  }
}

/** Makes the instance of a sandbox whose state is stored. */
export async function restore(
  context: SandboxPorts & Uses<'volumes'>,
  live: LiveSandbox,
  executionId: string,
  cold: boolean,
): Promise<void> {
  const { row } = live;
  if (row.checkpoint_id === null) throw errors.createFailed(`the files of sandbox ${row.id} were not found`);
  const memory = !cold && row.paused_memory === 1;
  live.instance = await bootInstance(
    context,
    { ...row, execution_id: executionId, daemon_generation: row.daemon_generation + 1 },
    {
      kind: 'checkpoint',
      checkpointId: row.checkpoint_id,
      memory,
      // A pause continues when the daemon does not answer; its memory then has the token of before.
      tokens: [imageToken(context.keys, row.checkpoint_id), ...tokensOf(context, row)],
    },
  );
  if (!memory) await resetLogCursor(context, live);
}
