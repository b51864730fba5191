import { statfs } from 'node:fs/promises';
import { reserveBytes } from '@svc/runtime';
import { errors } from '../../api/errors/catalog.js';
import type { Uses } from '../context.js';

/** Free bytes on the disk of the data directory. */
export async function freeDiskBytes(context: Uses<'config'>): Promise<number> {
  const { bavail, bsize } = await statfs(context.config.dataDir);
  return bavail * bsize;
}

/**
 * Refuses what would write to the disk of the data directory while no more than the reserve is free: the database must
 * be able to go on.
 * @throws {ApiError} 503
 */
export async function assertDiskRoom(context: Uses<'config'>): Promise<void> {
  const { dataDir, diskReserveMiB } = context.config;
  if ((await freeDiskBytes(context)) <= reserveBytes(dataDir, diskReserveMiB))
    throw errors.serverStorageFull();
}
