import { errors } from '../../api/errors/catalog.js';
import type { Uses } from '../context.js';
import { heirOf } from '../nodes/cluster-of.js';
import { HERE, type Owner, ownerById } from '../nodes/ownership.js';

/**
 * Finds the node that has the files of a volume: this one for volumes on its cluster. A volume of an earlier version without a node
 * becomes this one's.
 */
export async function volumeHome(context: Uses<'db' | 'driver' | 'nodes'>, volumeId: string): Promise<Owner> {
  if (!context.nodes.shared) return { kind: 'here' };
  const read = () =>
    context.db.selectFrom('volumes').select('node_id').where('id', '=', volumeId).executeTakeFirst();
  let row = await read();
  if (row?.node_id === null) {
    await claimVolumes(context, [volumeId]);
    row = await read();
  }
  const owner = await ownerById(context, row?.node_id ?? null);
  if (owner.kind === 'here') return owner;
  // While the cluster does not answer, the node that made it is asked.
  return (await isOnCluster(context, volumeId).catch(() => false)) ? HERE : owner;
}

/** The place of a sandbox that mounts volumes: one node, or any of a cluster. */
export type MountsHome = { nodeId: string } | { clusterId: string };

/**
 * Returns the place of a sandbox that mounts these volumes; undefined: anywhere.
 * @throws {ApiError} 400 when they lie on several nodes
 */
export async function homeOfMounts(
  context: Uses<'db' | 'driver' | 'nodes'>,
  teamId: string,
  mounts: readonly { name: string }[],
): Promise<MountsHome | undefined> {
  if (mounts.length === 0) return undefined;
  const names = [...new Set(mounts.map(({ name }) => name))];
  const rows = await context.db
    .selectFrom('volumes')
    .select(['id', 'name', 'node_id'])
    .where('team_id', '=', teamId)
    .where('name', 'in', names)
    .orderBy('name')
    .execute();
  const homes = await Promise.all(
    rows.map(async ({ id, name, node_id: nodeId }) => ({
      name,
      // The cluster decides on which of its machines they are.
      home: (await isOnCluster(context, id)) ? '' : nodeId,
    })),
  );
  const [first, ...others] = homes.filter(({ home }) => home !== null);
  const other = others.find(({ home }) => home !== first?.home);
  if (first !== undefined && other !== undefined)
    throw errors.badRequest(
      `volumeMounts: the volumes '${first.name}' and '${other.name}' lie on different servers: one sandbox cannot mount both`,
    );
  if (first === undefined) return undefined;
  return first.home === '' ? { clusterId: context.driver.shared!.clusterId } : { nodeId: first.home! };
}

/**
 * Gives the volumes of another node that lie on a cluster to a node that reaches them there: they are as good as they were. To this
 * one, when it is on the cluster.
 * @throws {DriverError} `unreachable` while the cluster does not answer
 */
export async function takeVolumes(
  context: Uses<'db' | 'driver' | 'nodes'>,
  fromNodeId: string,
): Promise<void> {
  const { db, driver, nodes } = context;
  const heir = await heirOf(context, fromNodeId);
  const give = (toNodeId: string) =>
    db.updateTable('volumes').set({ node_id: toNodeId }).where('node_id', '=', fromNodeId);
  // Only that node knows which of them are missing, when it is asked for one.
  if (heir !== undefined && heir !== nodes.nodeId) await give(heir).execute();
  if (driver.shared === undefined) return;
  const rows = await db.selectFrom('volumes').select('id').where('node_id', '=', fromNodeId).execute();
  for (const { id } of rows)
    if (await isOnCluster(context, id)) await give(nodes.nodeId).where('id', '=', id).execute();
}

/** @throws {DriverError} `unreachable` */
async function isOnCluster({ driver }: Uses<'driver'>, volumeId: string): Promise<boolean> {
  return (await driver.shared?.hasVolume(volumeId)) ?? false;
}

/** Makes volumes that belong to no node yet this one's. */
export async function claimVolumes(
  { db, nodes }: Uses<'db' | 'nodes'>,
  volumeIds: readonly string[],
): Promise<void> {
  if (volumeIds.length === 0) return;
  await db
    .updateTable('volumes')
    .set({ node_id: nodes.nodeId })
    .where('id', 'in', volumeIds)
    .where('node_id', 'is', null)
    .execute();
}
