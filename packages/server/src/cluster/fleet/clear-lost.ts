import { type SqlBool, sql } from 'kysely';
import { usedLayers } from '../../storage/builds/sweep-layers.js';
import { fromJson } from '../../storage/json.js';
import type { NodeReport } from '../../storage/json-shapes.js';
import type { Uses } from '../context.js';
import { databaseNow } from '../nodes/registry.js';

/** A node that says nothing for so long does not come back by itself, ms. */
const LOST_MS = 600_000;

type Ports = Uses<'db' | 'driver' | 'log' | 'nodes'>;

/** Condition on rows of `nodes`: it did not leave, and is silent for long. */
const isLost = sql<SqlBool>`heartbeat_at > 0 and heartbeat_at < ${databaseNow} - ${LOST_MS}`;

/** Removes what lost nodes of this one's cluster had there and gave to nobody. */
export async function clearLost(context: Ports): Promise<void> {
  const { db, driver, nodes } = context;
  if (driver.shared === undefined || !nodes.shared || nodes.taken) return;
  const rows = await db
    .selectFrom('nodes')
    .select(['id', 'report'])
    .where('id', '!=', nodes.nodeId)
    .where(isLost)
    .execute();
  for (const { id, report } of rows)
    await clearNode(context, { id, report: fromJson(report) }, async () => {
      const row = await db
        .selectFrom('nodes')
        .select('id')
        .where('id', '=', id)
        .where(isLost)
        .executeTakeFirst();
      return row !== undefined;
    });
}

/** As {@link clearLost}, of a node that was forgotten. Never rejects. */
export async function clearForgotten(
  context: Ports,
  node: { id: string; report: Partial<NodeReport> },
): Promise<void> {
  const { db, log } = context;
  try {
    // One that comes back makes its record anew.
    await clearNode(context, node, async () => {
      const row = await db.selectFrom('nodes').select('id').where('id', '=', node.id).executeTakeFirst();
      return row === undefined;
    });
  } catch (error) {
    log.warn({ err: error, forgottenNodeId: node.id }, 'orphans of a forgotten node stay on the cluster');
  }
}

async function clearNode(
  { db, driver: { shared }, log }: Ports,
  { id, report: { clusterId, clusterHolder } }: { id: string; report: Partial<NodeReport> },
  stillLost: () => Promise<boolean>,
): Promise<void> {
  // A node that has another name now has the same things still.
  const own = clusterHolder === shared?.holder;
  if (shared === undefined || clusterId !== shared.clusterId || clusterHolder === undefined || own) return;
  const removed = await shared.removeOrphans({
    holder: clusterHolder,
    isLost: stillLost,
    usedLayers: () => usedLayers({ db }),
    usedVolumes: async () =>
      new Set((await db.selectFrom('volumes').select('id').execute()).map(({ id }) => id)),
  });
  if (removed.length > 0)
    log.warn({ lostNodeId: id, removed }, 'orphans of a lost node were removed from the cluster');
}
