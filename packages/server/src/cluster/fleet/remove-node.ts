import { errors } from '../../api/errors/catalog.js';
import { fromJson, toJson } from '../../storage/json.js';
import type { Database, NodeDrain, Tx } from '../../storage/schema.js';
import type { Uses } from '../context.js';
import { nodeIsAlive } from '../nodes/registry.js';
import { clearForgotten } from './clear-lost.js';
import { inheritBuilds } from './inherit-builds.js';
import { removeLost } from './lost-sandboxes.js';
import { takeVolumes } from './volume-home.js';

type Ports = Uses<'config' | 'db' | 'driver' | 'events' | 'ids' | 'log' | 'nodes' | 'now'>;

/** The records that went with a node that was forgotten. */
interface Forgotten {
  sandboxes: number;
  /** Snapshots and builds of templates that nobody else has. */
  builds: number;
  volumes: number;
}

/**
 * Removes a node that has stopped and has nothing that anybody could miss.
 * @throws {ApiError} 404; 409 while it lives, or has sandboxes, snapshots, templates or volumes
 */
export async function removeNode(context: Ports, nodeId: string): Promise<void> {
  await assertStopped(context, nodeId);
  await takeVolumes(context, nodeId);
  await inheritBuilds(context, nodeId);
  const { db } = context;
  await db.transaction().execute(async (tx) => {
    const sandboxes = await tx
      .selectFrom('sandboxes')
      .select((build) => build.fn.countAll<number>().as('count'))
      .where('node_id', '=', nodeId)
      .executeTakeFirstOrThrow();
    const builds = await buildsAtHome(tx, nodeId).execute();
    const volumes = await volumesThere(tx, nodeId);
    if (Number(sandboxes.count) > 0 || builds.length > 0 || volumes > 0)
      throw errors.nodeHolds(nodeId, {
        sandboxes: Number(sandboxes.count),
        builds: builds.length,
        volumes,
      });
    await dropRecords(tx, nodeId);
  });
}

/**
 * Gives up a node that is lost: its sandboxes and volumes end, and what only it had of templates and snapshots cannot be used any more.
 * Another node of its cluster gets the volumes, templates and snapshots on that cluster.
 * Should it come back all the same, it finds its name taken and clears away what it has when it starts again.
 * @throws {ApiError} 404; 409 while it lives
 */
export async function forgetNode(context: Ports, nodeId: string): Promise<Forgotten> {
  await assertStopped(context, nodeId);
  await takeVolumes(context, nodeId);
  await inheritBuilds(context, nodeId);
  const { db } = context;
  const rows = await db
    .selectFrom('sandboxes')
    .select(['id', 'team_id'])
    .where('node_id', '=', nodeId)
    .execute();
  const node = await db.selectFrom('nodes').select('report').where('id', '=', nodeId).executeTakeFirst();
  let sandboxes = 0;
  for (const row of rows)
    if ((await removeLost(context, { id: row.id, teamId: row.team_id }, 'orphaned')) !== undefined)
      sandboxes += 1;
  const { builds, volumes } = await db.transaction().execute(async (tx) => {
    const lost = await buildsAtHome(tx, nodeId).execute();
    for (const { id } of lost)
      await tx
        .updateTable('template_builds')
        .set({
          status: 'error',
          reason: toJson({ message: 'the node that had it was lost: build it again' }),
          checkpoint_id: null,
          updated_at: context.now(),
        })
        .where('id', '=', id)
        .execute();
    const lostVolumes = await volumesThere(tx, nodeId);
    await dropRecords(tx, nodeId);
    return { builds: lost.length, volumes: lostVolumes };
  });
  if (node !== undefined) void clearForgotten(context, { id: nodeId, report: fromJson(node.report) });
  context.log.warn({ forgottenNodeId: nodeId, sandboxes, builds, volumes }, 'a node was forgotten');
  return { sandboxes, builds, volumes };
}

async function assertStopped({ db, nodes }: Ports, nodeId: string): Promise<void> {
  if (!nodes.shared) throw errors.onlyNode();
  const row = await db
    .selectFrom('nodes')
    .select(nodeIsAlive.as('alive'))
    .where('id', '=', nodeId)
    .executeTakeFirst();
  if (row === undefined) throw errors.nodeNotFound(nodeId);
  if (row.alive) throw errors.nodeAlive(nodeId);
}

/** Builds whose stored state or layers lie on this node, and those that it was working on. */
export function buildsAtHome(db: Database | Tx, nodeId: string) {
  return db
    .selectFrom('template_builds')
    .select('id')
    .where('node_id', '=', nodeId)
    .where('status', '!=', 'error')
    .where(({ eb, or }) =>
      or([
        eb('checkpoint_id', 'is not', null),
        eb('layers', '!=', '[]' as never),
        eb('status', '!=', 'ready'),
      ]),
    );
}

async function volumesThere(tx: Tx, nodeId: string): Promise<number> {
  const { count } = await tx
    .selectFrom('volumes')
    .select((build) => build.fn.countAll<number>().as('count'))
    .where('node_id', '=', nodeId)
    .executeTakeFirstOrThrow();
  return Number(count);
}

async function dropRecords(tx: Tx, nodeId: string): Promise<void> {
  await tx.deleteFrom('volumes').where('node_id', '=', nodeId).execute();
  await tx.deleteFrom('checkpoints').where('node_id', '=', nodeId).execute();
  await tx.deleteFrom('layers').where('node_id', '=', nodeId).execute();
  await tx.deleteFrom('object_copies').where('node_id', '=', nodeId).execute();
  await tx.deleteFrom('build_files').where('node_id', '=', nodeId).execute();
  await tx.deleteFrom('deleted_builds').where('node_id', '=', nodeId).execute();
  await tx.deleteFrom('nodes').where('id', '=', nodeId).execute();
}

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
    // The progress of an earlier drain says nothing about this one.
    const { moving: _, ...report } = fromJson(node.report);
    await tx
      .updateTable('nodes')
      .set({ drain, report: toJson(report) })
      .where('id', '=', nodeId)
      .execute();
  });
}
