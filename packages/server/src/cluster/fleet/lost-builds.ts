import { type SqlBool, sql } from 'kysely';
import { toJson } from '../../storage/json.js';
import type { Uses } from '../context.js';
import { databaseNow } from '../nodes/registry.js';

/** A node that said nothing for so long builds nothing any more, ms. One that only starts again ends its builds by itself. */
const LOST_MS = 30_000;

const nodeIsLost = sql<SqlBool>`not exists (
  select 1 from nodes where nodes.id = template_builds.node_id
    and nodes.heartbeat_at >= ${databaseNow} - ${sql.lit(LOST_MS)})`;

/**
 * Ends builds of other nodes that are lost. Should one of these come back, it finds its build ended and drops what it made.
 * @returns how many
 */
export async function failLostBuilds(context: Uses<'db' | 'log' | 'nodes' | 'now'>): Promise<number> {
  const now = context.now();
  const lost = await context.db
    .updateTable('template_builds')
    .set((build) => ({
      status: 'error',
      version: build('version', '+', 1),
      reason: toJson({ message: 'the server that built it was lost: start the build again' }),
      updated_at: now,
      finished_at: now,
    }))
    .where('status', '=', 'building')
    .where('node_id', '!=', context.nodes.nodeId)
    .where(nodeIsLost)
    .returning('id')
    .execute();
  for (const { id } of lost) context.log.warn({ buildId: id }, 'a build of a lost server was ended');
  return lost.length;
}
