import type { Team } from '../../api/auth/team-store.js';
import { concurrently } from '../../api/context/concurrent.js';
import { ApiError } from '../../api/errors/api-error.js';
import { errors } from '../../api/errors/catalog.js';
import { toJson } from '../../storage/json.js';
import type { Tx } from '../../storage/schema.js';
import type { StartPorts } from '../context.js';
import { configOf } from '../state/config.js';
import type { SandboxRow } from '../state/live.js';
import { imageToken } from '../state/sandbox-tokens.js';
import { startLogsAt } from '../telemetry/collect-logs.js';
import { newLife, startNew } from './create.js';

export interface StartForkOptions {
  team: Team;
  /** The sandbox that it is a fork of. */
  source: SandboxRow;
  /** Stored on this node. */
  checkpointId: string;
  /** Number of the last log entry before the checkpoint: forks do not repeat what the source printed. */
  logsFrom: number;
  timeoutSeconds: number;
  /** Default: a new one. */
  sandboxId?: string;
  /** As in `startNew`. */
  confirm?: (tx: Tx) => Promise<void>;
  signal: AbortSignal;
}

/** A fork that runs, or why it does not. */
export type ForkOutcome = SandboxRow | ApiError;

/** Forks of one request that start at the same time. With more each takes longer, until the last are given up. */
const AT_ONCE = 16;

/**
 * Starts forks on this node, some at a time. Never rejects.
 * @param timeout when the time of the request is up
 * @returns one outcome for each of them, in their order
 */
export async function startForks(
  context: StartPorts,
  forks: readonly StartForkOptions[],
  timeout: AbortSignal,
): Promise<ForkOutcome[]> {
  const outcomes: ForkOutcome[] = [];
  await concurrently(forks.entries(), AT_ONCE, async ([index, fork]) => {
    outcomes[index] = await startFork(context, fork).catch((error: unknown) =>
      forkError(error, timeout.aborted),
    );
  });
  return outcomes;
}

/** Starts a fork on this node. Nothing is left when it fails. @throws {ApiError} 429, 500, 503, 504 */
async function startFork(
  context: StartPorts,
  { team, source, checkpointId, logsFrom, timeoutSeconds, ...options }: StartForkOptions,
): Promise<SandboxRow> {
  const life = newLife(context, timeoutSeconds);
  const row: SandboxRow = {
    ...source,
    ...life,
    id: options.sandboxId ?? life.id,
    node_id: context.config.nodeId,
    config: toJson({ ...configOf(source), forkedFrom: source.id }),
  };
  try {
    await startLogsAt(context, row, logsFrom);
    return await startNew(context, {
      team,
      row,
      source: {
        kind: 'checkpoint',
        checkpointId,
        memory: true,
        tokens: [imageToken(context.keys, checkpointId)],
      },
      ...(options.confirm === undefined ? {} : { confirm: options.confirm }),
      signal: options.signal,
    });
  } catch (error) {
    if (!ApiError.is(error) || error.status >= 500)
      context.log.warn({ err: error, sandboxId: row.id }, 'a fork could not be started');
    throw error;
  }
}

/** Returns the error of a fork that did not start. @param timedOut whether its time was up */
function forkError(error: unknown, timedOut: boolean): ApiError {
  if (ApiError.is(error) && error.status < 500) return error;
  if (timedOut) return errors.placementTimeout(1);
  return ApiError.is(error) ? error : errors.internal(error);
}
