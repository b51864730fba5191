import type { components } from '@svc/platform';
import { anyOf } from '#support/any-of';
import type { Team } from '../auth/team.js';
import { ApiError } from '../errors/api-error.js';
import { errors } from '../errors/catalog.js';
import { imageToken } from '../keys/sandbox-tokens.js';
import { configOf } from '../sandbox-state/config.js';
import type { LiveSandbox, SandboxRow } from '../sandbox-state/live.js';
import { toJson } from '../storage/json.js';
import { collectLogs, startLogsAt } from '../telemetry/collect-logs.js';
import { checkpointError } from './checkpoint-error.js';
import { dropCheckpoint, recordCheckpoint } from './checkpoints.js';
import { startNew } from './create.js';
import { lifecycleEvent } from './lifecycle-events.js';
import { newLife } from './new-life.js';
import type { SandboxPorts, StartPorts } from './ports.js';
import { quiesceSandbox, unquiesceSandbox } from './quiesce.js';
import { changeRow } from './rows.js';
import { admit, begin } from './transition.js';
import { checkTimeout } from './ttl.js';
import { assertVolumesExist } from './volume-mounts.js';
import { sandboxToWire } from './wire.js';

export interface ForkOptions {
  team: Team;
  sandboxId: string;
  timeoutSeconds: number;
  count: number;
  signal?: AbortSignal;
}

type Result = components['schemas']['ForkResult'];

/**
 * Snapshots a running sandbox once, memory and all, and starts `count` new ones from it. A fork that the team may not
 * have (429), that the server has no place for (503) or that does not start in the request's time (504) fails by itself.
 * @returns one result per fork, in any mix of success and failure.
 * @throws {ApiError} 400, 404, 409, 500, 503 when not even the snapshot was made.
 */
export async function forkSandbox(context: StartPorts, options: ForkOptions): Promise<Result[]> {
  const { team } = options;
  checkTimeout(options.timeoutSeconds, team.limits);
  const { live } = await admit(context, team.id, options.sandboxId, 'fork');
  if (!context.driver.capabilities.memorySnapshot) throw errors.memorySnapshotMissing('fork');
  const checkpointId = `fork-${context.ids.uuid()}`;
  const endsAt = performance.now() + context.config.requestTimeoutMs * 0.9;
  try {
    const logsFrom = await begin(context, live, 'snapshotting', () =>
      snapshotRunning(context, live, checkpointId),
    );
    options.signal?.throwIfAborted();
    const source = live.row;
    // Once forks exist the answer must name them: their time ends before that of the request.
    const timeout = AbortSignal.timeout(Math.max(0, Math.round(endsAt - performance.now())));
    return await Promise.all(
      Array.from({ length: options.count }, () =>
        startFork(context, { ...options, timeout }, source, checkpointId, logsFrom),
      ),
    );
  } finally {
    await dropCheckpoint(context, checkpointId);
  }
}

/** Gives the number of the last log entry before the snapshot: forks do not repeat what the source printed. */
async function snapshotRunning(
  context: SandboxPorts,
  live: LiveSandbox,
  checkpointId: string,
): Promise<number> {
  await assertVolumesExist(context, live.row, configOf(live.row).mounts);
  const owner = { owner_kind: 'fork', owner_id: live.row.id, team_id: live.row.team_id } as const;
  await changeRow(
    context,
    live,
    () => ({ state: 'snapshotting' }),
    (tx) => recordCheckpoint(context, tx, checkpointId, owner, true),
  );
  let failure: ApiError | undefined;
  const logsFrom = await collectLogs(context, live, { timeoutMs: 2_000 }).catch(() => 0);
  try {
    await quiesceSandbox(context, live, checkpointId);
    await live.instance!.checkpoint({ checkpointId, memory: true, then: 'continue', brief: true });
  } catch (error) {
    failure = checkpointError(live.row.id, 'forking', error);
  }
  const told = await unquiesceSandbox(context, live);
  await changeRow(
    context,
    live,
    () => ({ ...told, state: 'running' }),
    async (tx, row) => {
      if (failure === undefined)
        await context.events.emit(tx, lifecycleEvent('sandbox.lifecycle.checkpointed', row));
    },
  );
  if (failure !== undefined) throw failure;
  return logsFrom;
}

async function startFork(
  context: StartPorts,
  options: ForkOptions & { timeout: AbortSignal },
  source: SandboxRow,
  checkpointId: string,
  logsFrom: number,
): Promise<Result> {
  const config = toJson({ ...configOf(source), forkedFrom: source.id });
  const row: SandboxRow = { ...source, ...newLife(context, options.timeoutSeconds), config };
  try {
    await startLogsAt(context, row, logsFrom);
    const made = await startNew(context, {
      team: options.team,
      row,
      source: {
        kind: 'checkpoint',
        checkpointId,
        memory: true,
        tokens: [imageToken(context.keys, checkpointId)],
      },
      signal: options.signal === undefined ? options.timeout : anyOf([options.timeout, options.signal]),
    });
    return { sandbox: sandboxToWire(made, { keys: context.keys, ...context.config }) };
  } catch (error) {
    const known = forkError(error, options.timeout.aborted);
    if (known.status >= 500)
      context.log.warn({ err: error, sandboxId: row.id }, 'a fork could not be started');
    return { error: known.toRecord() };
  }
}

function forkError(error: unknown, timedOut: boolean): ApiError {
  if (ApiError.is(error) && error.status < 500) return error;
  if (timedOut) return errors.placementTimeout(1);
  return ApiError.is(error) ? error : errors.internal(error);
}
