import { sql } from 'kysely';
import { errors } from '../../api/errors/catalog.js';
import { bringBuild, objectsOf } from '../../sandboxes/start/bring-build.js';
import { placementError } from '../../sandboxes/start/placement-error.js';
import type { Tx } from '../../storage/schema.js';
import type { Uses } from '../context.js';

type Ports = Uses<'config' | 'copies' | 'db' | 'draining' | 'log' | 'nodes' | 'now'>;

/**
 * Makes this node the home of a snapshot, or of a build of a template, of another node. All that sandboxes start from is here before
 * the record says so; the other node keeps what it has as a copy.
 * @throws {ApiError} 404; 503 when it cannot be had or used here
 */
export async function takeBuild(context: Ports, buildId: string): Promise<void> {
  const { config, db, log, nodes } = context;
  const build = await db
    .selectFrom('template_builds')
    .selectAll()
    .where('id', '=', buildId)
    .executeTakeFirst();
  if (build === undefined) throw errors.notFound();
  const from = build.node_id;
  if (from === config.nodeId) return;
  if (nodes.drain !== 'no' || context.draining())
    throw errors.capacityUnavailable('the server is being drained');
  if (from === null || build.status !== 'ready')
    throw errors.capacityUnavailable('the build is not finished');
  await bringBuild(context, { build }).catch((error: unknown) => {
    throw placementError(error, false);
  });
  const objectIds = objectsOf({ build }).map(({ id }) => id);
  const taken = await db.transaction().execute(async (tx) => {
    await nodes.assertOwned(tx);
    const { numUpdatedRows } = await tx
      .updateTable('template_builds')
      .set({ node_id: config.nodeId })
      .where('id', '=', buildId)
      .where('node_id', '=', from)
      .where('status', '=', 'ready')
      .executeTakeFirst();
    if (numUpdatedRows !== 1n) return false;
    if (objectIds.length > 0) await changePlaces(context, tx, from, objectIds);
    return true;
  });
  if (!taken) throw errors.capacityUnavailable('the build has changed meanwhile');
  log.info({ buildId, fromNodeId: from }, 'a build was taken over from another server');
}

/** Makes the objects here the originals, and those there copies that go with the last record that needs them. */
async function changePlaces(
  { config, now }: Ports,
  tx: Tx,
  from: string,
  objectIds: readonly string[],
): Promise<void> {
  const here = config.nodeId;
  await tx
    .updateTable('checkpoints')
    .set({ node_id: here })
    .where('id', 'in', objectIds)
    .where('node_id', '=', from)
    .execute();
  await tx
    .insertInto('object_copies')
    .columns(['kind', 'object_id', 'node_id', 'size_bytes', 'created_at'])
    .expression((build) =>
      build
        .selectFrom('object_copies')
        .select([
          'kind',
          'object_id',
          sql.lit(from).as('node_id'),
          'size_bytes',
          sql.lit(now()).as('created_at'),
        ])
        .where('node_id', '=', here)
        .where('object_id', 'in', objectIds),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await tx
    .deleteFrom('object_copies')
    .where('kind', '=', 'checkpoint')
    .where('node_id', '=', here)
    .where('object_id', 'in', objectIds)
    .execute();
  // Builds here continue from the same layers.
  await tx
    .insertInto('layers')
    .columns(['key', 'team_id', 'node_id', 'layer_id', 'size_bytes', 'created_at', 'last_used_at'])
    .expression((build) =>
      build
        .selectFrom('layers')
        .select([
          'key',
          'team_id',
          sql.lit(here).as('node_id'),
          'layer_id',
          'size_bytes',
          'created_at',
          'last_used_at',
        ])
        .where('node_id', '=', from)
        .where('layer_id', 'in', objectIds),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}
