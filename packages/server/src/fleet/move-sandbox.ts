import { memoryMisfit } from '@svc/runtime';
import type { Uses } from '../context/context.js';
import { ApiError } from '../errors/api-error.js';
import { orderPlaces } from '../nodes/order-places.js';
import type { NodeRecord } from '../nodes/registry.js';
import type { SandboxRow } from '../sandbox-state/live.js';
import { isFull } from '../sandboxes/placement-error.js';
import type { RowPorts } from '../sandboxes/ports.js';
import type { PassOn } from './place-sandbox.js';
import { isMovable, takeSandbox } from './take-sandbox.js';

/** How many nodes are asked to take one sandbox, at most. */
const MOST_TRIES = 3;

type Ports = RowPorts & Uses<'copies' | 'driver' | 'fleet' | 'log' | 'now' | 'signal'>;

/** Where a sandbox went. */
export type Moved = { kind: 'here' } | { kind: 'node'; node: NodeRecord };

/**
 * Has another node take over a paused sandbox of a team whose own node has no place for it, the emptiest first that can go on with
 * its memory. That costs copies of all that is stored of it: nobody else's request may cause them.
 * @returns undefined when it stays where it is, or is not the team's
 */
export async function moveSandbox(
  context: Ports,
  { sandboxId, teamId }: { sandboxId: string; teamId: string },
): Promise<Moved | undefined> {
  const { copies, db, fleet, log, nodes, signal } = context;
  if (!copies.possible) return undefined;
  const row = await db
    .selectFrom('sandboxes')
    .selectAll()
    .where('id', '=', sandboxId)
    .where('team_id', '=', teamId)
    .executeTakeFirst();
  if (row === undefined || !isMovable(row)) return undefined;
  for (const node of await destinations({ fleet }, row)) {
    try {
      if (node.id === nodes.nodeId) {
        await takeSandbox(context, sandboxId);
        return { kind: 'here' };
      }
      const answer = await copies.forwarder.open(node, {
        method: 'POST',
        url: `/node/sandboxes/${sandboxId}/take`,
        signal,
      });
      answer.resume();
      if (answer.statusCode === 204) return { kind: 'node', node };
      throw new ApiError({ status: 503, message: `the other server refuses (${answer.statusCode})` });
    } catch (error) {
      log.warn({ err: error, sandboxId, toNodeId: node.id }, 'a paused sandbox was not taken over');
    }
  }
  return undefined;
}

async function destinations({ fleet }: Uses<'fleet'>, row: SandboxRow): Promise<NodeRecord[]> {
  const members = await fleet.places();
  const from = members.find(({ record }) => record.id === row.node_id)?.place.report?.machine;
  const fitting = members.filter(({ record, place }) => {
    if (record.id === row.node_id || place.report?.machine === undefined) return false;
    if (row.paused_memory !== 1) return true;
    return from !== undefined && memoryMisfit(from, place.report.machine) === undefined;
  });
  const order = orderPlaces(
    fitting.map(({ place }) => place),
    { memoryMiB: row.memory_mb, pooled: false },
  );
  return order.slice(0, MOST_TRIES).map((id) => fitting.find(({ record }) => record.id === id)!.record);
}

/**
 * Wakes a sandbox that this node has, or has another node do so where this one is drained or has no place for it.
 * @param passOn undefined where another node passed the request on: that one looks for another place.
 */
export async function wakeOrMove<A>(
  context: Ports,
  { sandboxId, teamId, passOn }: { sandboxId: string; teamId: string; passOn: PassOn<A> | undefined },
  wake: () => Promise<A>,
): Promise<A> {
  if (passOn === undefined) return wake();
  const move = () => moveSandbox(context, { sandboxId, teamId });
  if (context.nodes.drain !== 'no') {
    const moved = await move();
    if (moved?.kind === 'node') return passOn(moved.node);
  }
  try {
    return await wake();
  } catch (error) {
    if (!ApiError.is(error) || !isFull(error)) throw error;
    const moved = await move();
    if (moved?.kind !== 'node') throw error;
    return passOn(moved.node);
  }
}
