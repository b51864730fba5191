import { type Machine, memoryMisfit } from '@svc/runtime/contract';
import type { NodeRecord } from '../../api/context/nodes.js';
import type { Uses } from '../context.js';
import { isFull, orderPlaces, type Place } from '../nodes/order-places.js';

/** The sandbox that is to go to another node. */
export interface Cargo {
  /** The node that has it. */
  nodeId: string;
  /** True when its memory is stored, which only a machine like its own can resume. */
  memory: boolean;
  memoryMiB: number;
  /** True when it is to run there at once, which takes room. */
  runs: boolean;
}

/** Nodes that can take something, the emptiest first, and of each other one a clause that says why it cannot. */
export interface Destinations {
  nodes: NodeRecord[];
  why: string[];
}

/** Finds the live nodes that can take something over. */
export async function destinations({ fleet }: Uses<'fleet'>, cargo: Cargo): Promise<Destinations> {
  const members = await fleet.places();
  const machine = members.find(({ record }) => record.id === cargo.nodeId)?.place.report?.machine;
  const why: string[] = [];
  const fitting = members.filter(({ record, place }) => {
    if (record.id === cargo.nodeId) return false;
    const misfit = misfitOf(machine, place, cargo);
    if (misfit !== undefined) why.push(`server ${record.id}: ${misfit}`);
    return misfit === undefined;
  });
  const order = orderPlaces(
    fitting.map(({ place }) => place),
    { memoryMiB: cargo.memoryMiB, pooled: false },
  );
  return { nodes: order.map((id) => fitting.find(({ record }) => record.id === id)!.record), why };
}

/**
 * Returns why a node cannot take something over; undefined when it can. Pure.
 * @param from the machine that has it
 */
export function misfitOf(
  from: Machine | undefined,
  place: Place,
  { memory, memoryMiB, runs }: Pick<Cargo, 'memory' | 'memoryMiB' | 'runs'>,
): string | undefined {
  if (place.drained) return 'it is being drained';
  const machine = place.report?.machine;
  if (machine === undefined) return 'it cannot take over what others stored (SVC_TRANSFER_KEY)';
  if (memory) {
    if (from === undefined) return 'nothing is known of the machine that stored the memory';
    const misfit = memoryMisfit(from, machine);
    if (misfit !== undefined) return misfit;
  }
  return runs && isFull(place, { memoryMiB }) ? 'it has no room' : undefined;
}

/** The clauses as one sentence for the operator. Pure. */
export function whyNowhere({ why }: Pick<Destinations, 'why'>): string {
  return why.length === 0 ? 'no other server lives' : `no other server can take it (${why.join('; ')})`;
}
