import type { NodeRecord } from '../../api/context/nodes.js';
import type { NodePorts } from './ports.js';

/** Which node has to do something. `gone`: one without a recent heartbeat. */
export type Owner = { kind: 'here' } | { kind: 'node'; node: NodeRecord } | { kind: 'gone' };

export const HERE: Owner = { kind: 'here' };

/**
 * The node that has a sandbox; this one when nobody knows it. Without a detour for a sandbox that is held here. One of a silent
 * node is taken over where that can be done.
 */
export function ownerOfSandbox(ports: NodePorts, sandboxId: string): Owner | Promise<Owner> {
  if (!ports.nodes.shared || ports.sandboxes.get(sandboxId) !== undefined) return HERE;
  return lookUp(ports, sandboxId);
}

async function lookUp(ports: NodePorts, sandboxId: string): Promise<Owner> {
  const owner = await ownerById(ports, await homeOfSandbox(ports, sandboxId));
  // The row is this node's before the sandbox is.
  const underWay = ports.takeOvers.underWay(sandboxId);
  if (owner.kind !== 'gone' && underWay === undefined) return owner;
  if (await (underWay ?? ports.takeOvers.take(sandboxId))) return HERE;
  // Another node may have been faster.
  return ownerById(ports, await homeOfSandbox(ports, sandboxId));
}

/** The node that has a sandbox by its record; null when there is none. */
export async function homeOfSandbox(
  { db }: Pick<NodePorts, 'db'>,
  sandboxId: string,
): Promise<string | null> {
  const row = await db
    .selectFrom('sandboxes')
    .select('node_id')
    .where('id', '=', sandboxId)
    .executeTakeFirst();
  return row?.node_id ?? null;
}

/** @param nodeId null: any node will do. */
export async function ownerById({ nodes }: Pick<NodePorts, 'nodes'>, nodeId: string | null): Promise<Owner> {
  if (!nodes.shared || nodeId === null || nodeId === nodes.nodeId) return HERE;
  const node = await nodes.findAlive(nodeId);
  return node === undefined ? { kind: 'gone' } : { kind: 'node', node };
}
