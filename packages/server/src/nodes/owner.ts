import type { Uses } from '../context/context.js';
import { errors } from '../errors/catalog.js';
import type { NodeRecord } from './registry.js';

/** A request belongs to another node. Never answered: the router passes the request on. */
export class ElsewhereError extends Error {
  override readonly name = 'ElsewhereError';
  readonly nodeId: string;

  constructor(nodeId: string) {
    super('another node has to do this');
    this.nodeId = nodeId;
  }
}

/** The node of a sandbox when it is another one. Undefined: this one, or the sandbox is unknown. */
export async function otherOwnerOf(
  context: Uses<'db' | 'nodes' | 'sandboxes'>,
  sandboxId: string,
): Promise<string | undefined> {
  if (!context.nodes.shared || context.sandboxes.get(sandboxId) !== undefined) return undefined;
  const row = await context.db
    .selectFrom('sandboxes')
    .select('node_id')
    .where('id', '=', sandboxId)
    .executeTakeFirst();
  return row === undefined || row.node_id === context.nodes.nodeId ? undefined : row.node_id;
}

/** @throws {ApiError} 503 when the node gave no sign of life lately */
export async function requireAlive(context: Uses<'nodes'>, nodeId: string): Promise<NodeRecord> {
  const node = await context.nodes.findAlive(nodeId);
  if (node === undefined) throw errors.nodeGone();
  return node;
}
