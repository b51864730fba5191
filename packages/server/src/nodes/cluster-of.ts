import { sql } from 'kysely';
import { fromJson } from '../storage/json.js';
import type { Database } from '../storage/schema.js';

/** The cluster that a node's instances are on, as it told last. Undefined: nobody else reaches them, or there is no such node. */
export async function clusterOf({ db }: { db: Database }, nodeId: string): Promise<string | undefined> {
  const row = await db.selectFrom('nodes').select('report').where('id', '=', nodeId).executeTakeFirst();
  return row === undefined ? undefined : fromJson(row.report).clusterId;
}

/** Another node of a cluster: one that lives, if any does. Undefined: nobody told of itself that it is on it. */
export async function otherMember(
  { db }: { db: Database },
  clusterId: string,
  nodeId: string,
): Promise<string | undefined> {
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
