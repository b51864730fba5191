import type { NodeRecord } from '../../api/context/nodes.js';
import type { KeyRing } from '../../storage/keys/key-ring.js';
import type { Database } from '../../storage/schema.js';
import type { NodeRegistry } from './registry.js';

/** The node that has a resource. `unreachable`: one without a recent heartbeat. */
export type Owner = { kind: 'here' } | { kind: 'node'; node: NodeRecord } | { kind: 'unreachable' };

export const HERE: Owner = { kind: 'here' };

/**
 * The node that has a sandbox; this one when it is unknown. Without a query for a sandbox that is live here. One of a silent
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
  if (owner.kind !== 'unreachable' && underWay === undefined) return owner;
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
  return node === undefined ? { kind: 'unreachable' } : { kind: 'node', node };
}

/** The members of the context that finding the node of a sandbox takes. */
export interface NodePorts {
  readonly db: Database;
  readonly keys: KeyRing;
  readonly log: { warn(fields: object, message: string): void };
  readonly nodes: NodeRegistry;
  /** The live sandboxes of this process. */
  readonly sandboxes: { get(sandboxId: string): unknown };
  readonly takeOvers: SandboxTakeOvers;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** Takes over sandboxes of silent nodes. */
export interface SandboxTakeOvers {
  /** The take-over of a sandbox which has begun and not ended. */
  underWay(sandboxId: string): Promise<boolean> | undefined;
  /**
   * Takes over one sandbox. Never rejects.
   * @returns whether it is this node's now. False: its node lives, is on no cluster of ours, or the cluster is unreachable.
   */
  take(sandboxId: string): Promise<boolean>;
}
