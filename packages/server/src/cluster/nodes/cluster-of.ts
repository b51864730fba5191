import type { Driver } from '@svc/runtime/contract';
import { sql } from 'kysely';
import { fromJson } from '../../storage/json.js';
import type { Database } from '../../storage/schema.js';
import type { NodeRegistry } from './registry.js';

/** The cluster that a node's instances are on, by its last report. Undefined: only that node reaches them, or it does not exist. */
export async function clusterOf({ db }: { db: Database }, nodeId: string): Promise<string | undefined> {
  const row = await db.selectFrom('nodes').select('report').where('id', '=', nodeId).executeTakeFirst();
  return row === undefined ? undefined : fromJson(row.report).clusterId;
}

/**
 * Chooses the node that takes over what a node has on its cluster: this one, when it is on it, else another one, a live one if there is any.
 * Undefined: it is on none, or alone.
 */
export async function heirOf(
  context: { db: Database; driver: Pick<Driver, 'shared'>; nodes: Pick<NodeRegistry, 'nodeId' | 'shared'> },
  nodeId: string,
): Promise<string | undefined> {
  const { db, driver, nodes } = context;
  const clusterId = await clusterOf(context, nodeId);
  if (clusterId === undefined || !nodes.shared) return undefined;
  if (clusterId === driver.shared?.clusterId) return nodes.nodeId;
  const row = await db
    .selectFrom('nodes')
    .select('id')
    .where('id', '!=', nodeId)
    .where(sql<string | null>`report::json ->> 'clusterId'`, '=', clusterId)
    .orderBy('heartbeat_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.id;
}
