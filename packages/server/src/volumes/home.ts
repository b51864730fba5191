import type { Uses } from '../context/context.js';
import { errors } from '../errors/catalog.js';
import { type Owner, ownerById } from '../nodes/ownership.js';

/** Which node has the files of a volume. One of an earlier version that no node has files of becomes this one's. */
export async function volumeHome(context: Uses<'db' | 'nodes'>, volumeId: string): Promise<Owner> {
  if (!context.nodes.shared) return { kind: 'here' };
  const read = () =>
    context.db.selectFrom('volumes').select('node_id').where('id', '=', volumeId).executeTakeFirst();
  let row = await read();
  if (row?.node_id === null) {
    await claimVolumes(context, [volumeId]);
    row = await read();
  }
  return ownerById(context, row?.node_id ?? null);
}

/**
 * The node on which a sandbox that mounts these volumes has to run; null: any.
 * @throws {ApiError} 400 when they lie on several
 */
export async function homeOfMounts(
  context: Uses<'db' | 'nodes'>,
  teamId: string,
  mounts: readonly { name: string }[],
): Promise<string | null> {
  if (mounts.length === 0) return null;
  const names = [...new Set(mounts.map(({ name }) => name))];
  const rows = await context.db
    .selectFrom('volumes')
    .select(['name', 'node_id'])
    .where('team_id', '=', teamId)
    .where('name', 'in', names)
    .orderBy('name')
    .execute();
  const homes = rows.filter(({ node_id: nodeId }) => nodeId !== null);
  const [first] = homes;
  const other = homes.find(({ node_id: nodeId }) => nodeId !== first?.node_id);
  if (first !== undefined && other !== undefined)
    throw errors.badRequest(
      `volumeMounts: the volumes '${first.name}' and '${other.name}' lie on different servers: one sandbox cannot mount both`,
    );
  return first?.node_id ?? null;
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
