import type { Selectable } from 'kysely';
import { fromJson } from '../../storage/json.js';
import type { TemplateBuildsTable } from '../../storage/schema.js';
import type { Uses } from '../context.js';
import { heirOf } from '../nodes/cluster-of.js';

/**
 * Gives templates and snapshots of a node that lie on a cluster to another node that reaches them there: they are as good as they were.
 * Unfinished builds are not among them, nor those that its data directory alone has.
 * @throws {DriverError} `unreachable` while the cluster does not answer
 */
export async function inheritBuilds(
  context: Uses<'db' | 'driver' | 'nodes'>,
  fromNodeId: string,
): Promise<void> {
  const { db, nodes } = context;
  const heir = await heirOf(context, fromNodeId);
  if (heir === undefined) return;
  const builds = await db
    .selectFrom('template_builds')
    .select(['id', 'layers', 'checkpoint_id'])
    .where('node_id', '=', fromNodeId)
    .where('status', '=', 'ready')
    .execute();
  for (const build of builds) {
    // Only a node of the cluster knows what is missing: another one that is asked passes all of them on.
    if (heir === nodes.nodeId && !(await isOnCluster(context, build))) continue;
    await db.transaction().execute(async (tx) => {
      await tx
        .updateTable('template_builds')
        .set({ node_id: heir })
        .where('id', '=', build.id)
        .where('node_id', '=', fromNodeId)
        .execute();
      if (build.checkpoint_id !== null)
        await tx
          .updateTable('checkpoints')
          .set({ node_id: heir })
          .where('id', '=', build.checkpoint_id)
          .where('node_id', '=', fromNodeId)
          .execute();
    });
  }
}

async function isOnCluster(
  { driver: { shared } }: Uses<'driver'>,
  build: Pick<Selectable<TemplateBuildsTable>, 'layers' | 'checkpoint_id'>,
): Promise<boolean> {
  if (shared === undefined) return false;
  if (build.checkpoint_id !== null) return shared.hasCheckpoint(build.checkpoint_id);
  return shared.hasLayers(fromJson(build.layers));
}
