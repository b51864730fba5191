import type { InstanceMount } from '@svc/runtime/contract';
import { ApiError } from '../../api/errors/api-error.js';
import { errors } from '../../api/errors/catalog.js';
import type { MountConfig } from '../../storage/json-shapes.js';
import type { Uses } from '../context.js';
import type { SandboxRow } from '../state/live.js';

type Owner = Pick<SandboxRow, 'id' | 'team_id'>;

/**
 * Refuses when a volume that the sandbox mounts was deleted since it was made.
 * @throws {ApiError} 400 naming every such mount by its index; 500 when the volumes cannot be read
 */
export async function assertVolumesExist(
  context: Uses<'db'>,
  sandbox: Owner,
  mounts: MountConfig[],
): Promise<void> {
  if (mounts.length === 0) return;
  const gone = await deletedOf(context, sandbox, mounts).catch((error: unknown) => {
    throw errors.volumeMountsFailed(error);
  });
  if (gone.length > 0) throw errors.volumesDeleted(sandbox.id, gone.map(describe));
}

/**
 * The mounts of a sandbox's volumes, which are there then.
 * @throws {ApiError} 400 for a volume that was deleted, of which nothing is left; 500 when they cannot be had
 */
export async function volumeMounts(
  context: Uses<'db' | 'volumes'>,
  sandbox: Owner,
  mounts: MountConfig[],
): Promise<InstanceMount[]> {
  try {
    // The directories come first: a volume whose record is still there afterwards is deleted with its directory.
    await Promise.all(mounts.map(({ volumeId }) => context.volumes.prepare(volumeId)));
    const gone = await deletedOf(context, sandbox, mounts);
    if (gone.length === 0) return mounts.map(({ volumeId, path }) => ({ volumeId, target: path }));
    await Promise.all(gone.map(({ mount }) => context.volumes.discard(mount.volumeId)));
    throw errors.volumesDeleted(sandbox.id, gone.map(describe));
  } catch (error) {
    throw ApiError.is(error) ? error : errors.volumeMountsFailed(error);
  }
}

interface NumberedMount {
  index: number;
  mount: MountConfig;
}

async function deletedOf(
  context: Uses<'db'>,
  sandbox: Owner,
  mounts: MountConfig[],
): Promise<NumberedMount[]> {
  const rows = await context.db
    .selectFrom('volumes')
    .select('id')
    .where('team_id', '=', sandbox.team_id)
    .where(
      'id',
      'in',
      mounts.map(({ volumeId }) => volumeId),
    )
    .execute();
  const known = new Set(rows.map(({ id }) => id));
  return mounts.map((mount, index) => ({ index, mount })).filter(({ mount }) => !known.has(mount.volumeId));
}

function describe({ index, mount }: NumberedMount): string {
  return `[${index}] volume '${mount.name}' at ${mount.path}`;
}
