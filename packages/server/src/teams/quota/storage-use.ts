import { statfs } from 'node:fs/promises';
import { reserveBytes } from '@svc/runtime/host';
import type { Team } from '../../api/auth/team-store.js';
import { errors } from '../../api/errors/catalog.js';
import { fromJson, toJson } from '../../storage/json.js';
import type { Uses } from '../context.js';

const MIB = 2 ** 20;

/** Bytes that a team takes on this server. What several of its things share counts in each. */
interface StorageUse {
  volumes: number;
  /** Files and memory of paused sandboxes, snapshots and templates. */
  checkpoints: number;
  layers: number;
  uploads: number;
}

export async function storageUse(
  context: Uses<'db' | 'driver' | 'volumes'>,
  teamId: string,
): Promise<StorageUse> {
  const sum = (value: unknown) => Number(value ?? 0);
  const { db } = context;
  const [checkpoints, uploads, builds, volumes, layers] = await Promise.all([
    db
      .selectFrom('checkpoints')
      .select((build) => build.fn.sum('size_bytes').as('bytes'))
      .where('team_id', '=', teamId)
      // Gone within the request that makes it.
      .where('owner_kind', '!=', 'fork')
      .executeTakeFirst(),
    db
      .selectFrom('build_files')
      .innerJoin('templates', 'templates.id', 'build_files.template_id')
      .select((build) => build.fn.sum('size_bytes').as('bytes'))
      .where('team_id', '=', teamId)
      .executeTakeFirst(),
    db
      .selectFrom('template_builds')
      .select('layers')
      .where('team_id', '=', teamId)
      .where('layers', '!=', toJson([]))
      .execute(),
    db.selectFrom('volumes').select('id').where('team_id', '=', teamId).execute(),
    context.driver.layers.list(),
  ]);
  const own = new Set(builds.flatMap((build) => fromJson(build.layers)));
  const perVolume = await Promise.all(volumes.map(({ id }) => context.volumes.usedBytes(id)));
  return {
    volumes: perVolume.reduce((total, bytes) => total + bytes, 0),
    checkpoints: sum(checkpoints?.bytes),
    layers: layers.reduce((total, layer) => total + (own.has(layer.id) ? layer.sizeBytes : 0), 0),
    uploads: sum(uploads?.bytes),
  };
}

export function totalOf({ volumes, checkpoints, layers, uploads }: StorageUse): number {
  return volumes + checkpoints + layers + uploads;
}

/**
 * Refuses when the team takes as much of the disk as it may. Looked at before something is begun: one operation may go
 * past the limit, the next is refused.
 * @throws {ApiError} 429
 */
export async function assertTeamStorage(
  context: Uses<'db' | 'driver' | 'volumes'>,
  team: Team,
): Promise<void> {
  const total = totalOf(await storageUse(context, team.id));
  const { maxStorageMiB } = team.limits;
  if (total >= maxStorageMiB * MIB) throw errors.teamStorageFull(Math.ceil(total / MIB), maxStorageMiB);
}

/** Free bytes on the disk of the data directory. */
export async function freeDiskBytes(context: Uses<'config'>): Promise<number> {
  const { bavail, bsize } = await statfs(context.config.dataDir);
  return bavail * bsize;
}

/**
 * Refuses what would write to the disk of the data directory while no more than the reserve is free: the database must
 * be able to continue.
 * @throws {ApiError} 503
 */
export async function assertDiskRoom(context: Uses<'config'>): Promise<void> {
  const { dataDir, diskReserveMiB } = context.config;
  if ((await freeDiskBytes(context)) <= reserveBytes(dataDir, diskReserveMiB))
    throw errors.serverStorageFull();
}
