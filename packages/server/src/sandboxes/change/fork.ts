import type { components } from '@svc/platform';
import { anyOf } from '#support/any-of';
import type { Team } from '../../api/auth/team-store.js';
import { ApiError } from '../../api/errors/api-error.js';
import { errors } from '../../api/errors/catalog.js';
import { policyProblem } from '../../network/egress/policy-of.js';
import type { SandboxPorts, StartPorts, Uses } from '../context.js';
import { lifecycleEvent } from '../events/lifecycle-events.js';
import { dropCheckpoint, recordCheckpoint, recordCheckpointSize } from '../records/checkpoints.js';
import { changeRow } from '../records/rows.js';
import { admit, begin } from '../records/transition.js';
import { checkTimeout } from '../records/ttl.js';
import { sandboxToWire } from '../records/wire.js';
import { activeSandboxes } from '../start/capacity.js';
import { checkpointError, isFull } from '../start/placement-error.js';
import { type ForkOutcome, startForks } from '../start/start-forks.js';
import { assertVolumesExist } from '../start/volume-mounts.js';
import { configOf } from '../state/config.js';
import type { LiveSandbox, SandboxRow } from '../state/live.js';
import { collectLogs } from '../telemetry/collect-logs.js';
import { abortForks } from './abort-forks.js';
import { quiesceSandbox, unquiesceSandbox } from './quiesce.js';

export interface ForkOptions {
  team: Team;
  sandboxId: string;
  timeoutSeconds: number;
  count: number;
  /** Has other nodes start what this one has no place for. Undefined: there are none. */
  otherNodes?: ForkOnOtherNodes | undefined;
  signal?: AbortSignal;
}

/** Forks that the node of their source has no place for. */
export interface ForksLeft {
  team: Team;
  /** The sandbox that they are forks of, as it was when its checkpoint was made. */
  source: SandboxRow;
  checkpointId: string;
  /** Number of the last log entry before the checkpoint. */
  logsFrom: number;
  timeoutSeconds: number;
  count: number;
  /** The error that forks without a place on this node get. */
  full: ApiError;
  /** When the forks have to be there, by `performance.now()`. */
  endsAtMs: number;
  signal: AbortSignal;
}

/**
 * Starts forks on other nodes. Never rejects.
 * @returns one outcome for each of them; and what ends forks that nobody is answered of, to be called once no fork can start from the
 * checkpoint any more: those without an outcome, or all of them.
 */
export type ForkOnOtherNodes = (
  left: ForksLeft,
) => Promise<{ outcomes: ForkOutcome[]; endOthers: (which: 'unanswered' | 'all') => void }>;

type Result = components['schemas']['ForkResult'];

/**
 * Snapshots a running sandbox once, memory and all, and starts `count` new ones from it: here what fits, on other nodes what does not. A
 * fork that the team may not have (429), that no server has a place for (503) or that does not start in the request's time (504) fails
 * by itself. None stays once the request is over, because its client left: nobody knows of them.
 * @returns one result per fork, in any mix of success and failure.
 * @throws {ApiError} 400, 404, 409, 500, 503 when not even the snapshot was made.
 */
export async function forkSandbox(
  context: StartPorts & Uses<'retries'>,
  options: ForkOptions,
): Promise<Result[]> {
  const { team } = options;
  checkTimeout(options.timeoutSeconds, team.limits);
  const { live } = await admit(context, team.id, options.sandboxId, 'fork');
  if (!context.driver.capabilities.memorySnapshot) throw errors.memorySnapshotMissing('fork');
  const problem = policyProblem(configOf(live.row));
  // Its forks would store the same.
  if (problem !== undefined) throw errors.badRequest(`replace the network settings first: ${problem}`);
  // A volume is on the disk of one node.
  const otherNodes = configOf(live.row).mounts.length === 0 ? options.otherNodes : undefined;
  const drained = context.nodes.drain !== 'no';
  if (drained && otherNodes === undefined)
    throw errors.capacityUnavailable('the server that has the sandbox is being drained');
  const checkpointId = `fork-${context.ids.uuid()}`;
  const endsAtMs = performance.now() + context.config.requestTimeoutMs * 0.9;
  let endOthers = (_which: 'unanswered' | 'all') => {};
  let made: string[] = [];
  let results: Result[] | undefined;
  try {
    const logsFrom = await begin(context, live, 'snapshotting', () =>
      snapshotRunning(context, live, checkpointId),
    );
    options.signal?.throwIfAborted();
    // Once forks exist the answer must name them: their time ends before that of the request.
    const timeout = AbortSignal.timeout(Math.max(0, Math.round(endsAtMs - performance.now())));
    const signal = options.signal === undefined ? timeout : anyOf([timeout, options.signal]);
    const { timeoutSeconds } = options;
    const plan = { team, source: live.row, checkpointId, logsFrom, timeoutSeconds, signal };
    const outcomes = await startForks(
      context,
      Array(countHere(context, options.count, { drained, otherNodes })).fill(plan),
      timeout,
    );
    made = outcomes.flatMap((outcome) => (ApiError.is(outcome) ? [] : outcome.id));
    const here = otherNodes === undefined ? outcomes : outcomes.filter((outcome) => !isRefused(outcome));
    const count = options.count - here.length;
    if (otherNodes === undefined || count === 0) return (results = toResults(context, here));
    const full = outcomes.find(isRefused) ?? fullError(context, drained);
    const others = await otherNodes({ ...plan, count, full, endsAtMs });
    endOthers = others.endOthers;
    return (results = toResults(context, [...here, ...others.outcomes]));
  } finally {
    await dropCheckpoint(context, checkpointId);
    const answered = results !== undefined && options.signal?.aborted !== true;
    endOthers(answered ? 'unanswered' : 'all');
    if (!answered) await abortForks(context, made);
  }
}

/** Returns how many forks are tried on this node: where other nodes can have them, no more than fit. */
function countHere(
  context: Uses<'config' | 'sandboxes'>,
  count: number,
  { drained, otherNodes }: { drained: boolean; otherNodes: ForkOnOtherNodes | undefined },
): number {
  if (otherNodes === undefined) return count;
  if (drained) return 0;
  return Math.min(count, Math.max(0, context.config.maxSandboxes - activeSandboxes(context)));
}

function fullError({ config }: Uses<'config'>, drained: boolean): ApiError {
  return errors.capacityUnavailable(
    drained
      ? 'the server that has the sandbox is being drained'
      : `this server runs ${config.maxSandboxes} sandboxes, its most`,
  );
}

function isRefused(outcome: ForkOutcome): outcome is ApiError {
  return ApiError.is(outcome) && isFull(outcome);
}

function toResults(context: Uses<'config' | 'keys'>, outcomes: ForkOutcome[]): Result[] {
  return outcomes.map((outcome) =>
    ApiError.is(outcome)
      ? { error: outcome.toRecord() }
      : { sandbox: sandboxToWire(outcome, { keys: context.keys, ...context.config }) },
  );
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
  let sizeBytes = 0;
  const logsFrom = await collectLogs(context, live, { timeoutMs: 2_000 }).catch(() => 0);
  try {
    await quiesceSandbox(context, live, checkpointId);
    ({ sizeBytes } = await live.instance!.checkpoint({
      checkpointId,
      memory: true,
      then: 'continue',
      brief: true,
    }));
  } catch (error) {
    failure = checkpointError(live.row.id, 'forking', error);
  }
  const patch = await unquiesceSandbox(context, live);
  await changeRow(
    context,
    live,
    () => ({ ...patch, state: 'running' }),
    async (tx, row) => {
      if (failure !== undefined) return;
      await recordCheckpointSize(tx, checkpointId, sizeBytes);
      await context.events.emit(tx, lifecycleEvent('sandbox.lifecycle.checkpointed', row));
    },
  );
  if (failure !== undefined) throw failure;
  return logsFrom;
}
