import type { components } from '@svc/platform';
import { DriverError } from '@svc/runtime/contract';
import type { Team } from '../api/auth/team-store.js';
import { errors } from '../api/errors/catalog.js';
import { isUuid } from '../api/wire/ids.js';
import type { Uses } from '../cluster/context.js';
import { volumeHome } from '../cluster/fleet/volume-home.js';
import { isUniqueViolation } from '../storage/database-errors.js';
import { assertTeamStorage } from '../teams/quota/storage-use.js';
import { signVolumeToken } from './token.js';

type VolumeAndToken = components['schemas']['VolumeAndToken'];
type Context = Uses<'config' | 'db' | 'driver' | 'ids' | 'keys' | 'now' | 'volumes'>;

/**
 * Makes an empty volume.
 * @throws {ApiError} 400 when the name is taken; 429 when the team's disk is full, 503 when the server's is
 */
export async function createVolume(context: Context, team: Team, name: string): Promise<VolumeAndToken> {
  const teamId = team.id;
  await assertTeamStorage(context, team);
  const volumeId = context.ids.uuid();
  try {
    await context.db
      .insertInto('volumes')
      .values({
        id: volumeId,
        team_id: teamId,
        name,
        created_at: context.now(),
        node_id: context.config.nodeId,
      })
      .execute();
  } catch (error) {
    if (isUniqueViolation(error)) throw errors.volumeNameTaken(name);
    throw error;
  }
  await context.volumes.prepare(volumeId).catch(async (error: unknown) => {
    await context.db.deleteFrom('volumes').where('id', '=', volumeId).execute();
    throw DriverError.is(error) && error.code === 'storage_full' ? errors.serverStorageFull() : error;
  });
  return { volumeID: volumeId, name, token: await signVolumeToken(context, { teamId, volumeId }) };
}

/** Volumes of a team by name. */
export async function listVolumes(
  context: Context,
  teamId: string,
): Promise<components['schemas']['Volume'][]> {
  const rows = await context.db
    .selectFrom('volumes')
    .select(['id', 'name'])
    .where('team_id', '=', teamId)
    .orderBy('name')
    .execute();
  return rows.map((row) => ({ volumeID: row.id, name: row.name }));
}

/** @throws {ApiError} 400 for what is no UUID, 404 */
export async function getVolume(context: Context, teamId: string, volumeId: string): Promise<VolumeAndToken> {
  const row = await context.db
    .selectFrom('volumes')
    .select(['id', 'name'])
    .where('id', '=', parseVolumeId(volumeId))
    .where('team_id', '=', teamId)
    .executeTakeFirst();
  if (row === undefined) throw errors.volumeNotFound();
  return {
    volumeID: row.id,
    name: row.name,
    token: await signVolumeToken(context, { teamId, volumeId: row.id }),
  };
}

/**
 * Deletes the record first, then the files. Those on another node stay: that node did not answer, and removes them when it comes back.
 * @throws {ApiError} 400, 404, 500 when the deletion could not be recorded
 */
export async function deleteVolume(
  context: Context & Uses<'nodes'>,
  teamId: string,
  volumeId: string,
): Promise<void> {
  const id = parseVolumeId(volumeId);
  const home = await volumeHome(context, id);
  const deleted = await context.db
    .deleteFrom('volumes')
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .executeTakeFirst()
    .catch((cause: unknown) => {
      throw errors.volumeDeletionFailed(cause);
    });
  if (deleted.numDeletedRows === 0n) throw errors.volumeNotFound();
  if (home.kind === 'here') await context.volumes.discard(id);
}

function parseVolumeId(text: string): string {
  if (!isUuid(text)) throw errors.invalidVolumeId();
  return text.toLowerCase();
}
