import type { Uses } from '../context/context.js';
import { errors } from '../errors/catalog.js';
import type { NodeDrain } from '../storage/schema.js';

/**
 * Says whether a node gets new sandboxes. It follows with its next heartbeat.
 * @throws {ApiError} 404; 409 where there is no other node
 */
export async function drainNode(
  context: Uses<'db' | 'nodes'>,
  nodeId: string,
  drain: NodeDrain,
): Promise<void> {
  if (!context.nodes.shared) throw errors.onlyNode();
  const { numUpdatedRows } = await context.db
    .updateTable('nodes')
    .set({ drain })
    .where('id', '=', nodeId)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw errors.nodeNotFound(nodeId);
}
