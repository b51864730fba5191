import { errors } from '../../api/errors/catalog.js';
import { fromJson, toJson } from '../../storage/json.js';
import type { NodeDrain } from '../../storage/schema.js';
import type { Uses } from '../context.js';

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
  await context.db.transaction().execute(async (tx) => {
    const node = await tx
      .selectFrom('nodes')
      .select('report')
      .where('id', '=', nodeId)
      .forUpdate()
      .executeTakeFirst();
    if (node === undefined) throw errors.nodeNotFound(nodeId);
    // How far it was when it was drained before says nothing of this time.
    const { moving: _, ...report } = fromJson(node.report);
    await tx
      .updateTable('nodes')
      .set({ drain, report: toJson(report) })
      .where('id', '=', nodeId)
      .execute();
  });
}
