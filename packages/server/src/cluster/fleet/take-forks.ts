import { anyOf } from '#support/any-of';
import { ApiError } from '../../api/errors/api-error.js';
import { errors } from '../../api/errors/catalog.js';
import { abortForks } from '../../sandboxes/change/abort-forks.js';
import type { StartPorts } from '../../sandboxes/context.js';
import { activeSandboxes } from '../../sandboxes/start/capacity.js';
import { placementError } from '../../sandboxes/start/placement-error.js';
import { startForks } from '../../sandboxes/start/start-forks.js';
import { configOf } from '../../sandboxes/state/config.js';
import type { Tx } from '../../storage/schema.js';
import type { Uses } from '../context.js';
import { dropCopy } from '../copies/drop-copies.js';
import type { ForkCall, ForkEntry } from './fork-call.js';

type Ports = StartPorts & Uses<'copies' | 'retries' | 'teams'>;

/**
 * Starts forks of a sandbox of another node here, from a copy of its checkpoint that is removed again at the end. What they are made of
 * is read from the records: only what a fork under way has stored can be had.
 * @param asker aborts when the asking node disconnects before it has the answer: then none of them stays.
 * @throws {ApiError} 404; 503 when none of them can start here
 */
export async function takeForks(context: Ports, call: ForkCall, asker: AbortSignal): Promise<ForkEntry[]> {
  const { config, copies, nodes, teams } = context;
  if (nodes.drain !== 'no') throw errors.capacityUnavailable('the server is being drained');
  if (activeSandboxes(context) >= config.maxSandboxes)
    throw errors.capacityUnavailable(`this server runs ${config.maxSandboxes} sandboxes, its most`);
  const found = await findSource(context, call.checkpointId);
  const team = found === undefined ? undefined : await teams.get(found.source.team_id);
  if (found === undefined || team === undefined) throw errors.notFound();
  const { source, nodeId } = found;
  if (nodeId === config.nodeId || configOf(source).mounts.length > 0)
    throw errors.noCompatibleNode('its forks cannot start on another server');
  const timeout = AbortSignal.timeout(Math.min(call.withinMs, config.requestTimeoutMs));
  const checkpoint = { kind: 'checkpoint', id: call.checkpointId } as const;
  // Nobody removes the copy meanwhile, though no record says that its place is here.
  return copies.holding(checkpoint, async () => {
    try {
      await copies.bring(checkpoint, [nodeId]).catch((error: unknown) => {
        throw placementError(error, false);
      });
      const plan = {
        ...{ team, source },
        checkpointId: checkpoint.id,
        logsFrom: call.logsFrom,
        timeoutSeconds: call.timeoutSeconds,
        confirm: (tx: Tx) => assertUnderWay(tx, checkpoint.id),
        signal: anyOf([timeout, asker]),
      };
      const outcomes = await startForks(
        context,
        call.sandboxIds.map((sandboxId) => ({ ...plan, sandboxId })),
        timeout,
      );
      const end = () => abortForks(context, call.sandboxIds);
      if (asker.aborted) await end();
      else asker.addEventListener('abort', () => void end(), { once: true });
      return outcomes.map((outcome) =>
        ApiError.is(outcome) ? { error: outcome.toRecord() } : { sandboxID: outcome.id },
      );
    } finally {
      await dropCopy(context, checkpoint);
    }
  });
}

async function findSource({ db }: Uses<'db'>, checkpointId: string) {
  const row = await db
    .selectFrom('checkpoints')
    .innerJoin('sandboxes', 'sandboxes.id', 'checkpoints.owner_id')
    .selectAll('sandboxes')
    .select('checkpoints.node_id as stored_on')
    .where('checkpoints.id', '=', checkpointId)
    .where('checkpoints.owner_kind', '=', 'fork')
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { stored_on: nodeId, ...source } = row;
  return { source, nodeId };
}

/** The record of the checkpoint goes with the request that asked for forks: none appears that its answer does not name. */
async function assertUnderWay(tx: Tx, checkpointId: string): Promise<void> {
  const row = await tx
    .selectFrom('checkpoints')
    .select('id')
    .where('id', '=', checkpointId)
    .forKeyShare()
    .executeTakeFirst();
  if (row === undefined) throw errors.placementTimeout(1);
}
