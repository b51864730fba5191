import type { components } from '@svc/platform';
import type { Team } from '../../api/auth/team-store.js';
import { errors } from '../../api/errors/catalog.js';
import type { MountConfig } from '../../storage/json-shapes.js';
import type { Uses } from '../context.js';

const KERNEL = ['proc', 'sys', 'dev'];
/** Limits of Linux, bytes. */
const MAX_PATH = 4_000;
const MAX_PART = 255;

type Mount = components['schemas']['SandboxVolumeMount'];

/**
 * Finds the volumes of a create request by name.
 * @throws {ApiError} 400 listing every bad entry by its index; 500 when the lookup itself fails.
 */
export async function resolveMounts(
  context: Uses<'db' | 'driver'>,
  team: Team,
  mounts: Mount[],
): Promise<MountConfig[]> {
  if (mounts.length === 0) return [];
  if (!context.driver.capabilities.mounts)
    throw errors.badRequest('volumeMounts: the driver of this server cannot mount volumes');
  const rows = await context.db
    .selectFrom('volumes')
    .select(['id', 'name'])
    .where('team_id', '=', team.id)
    .where(
      'name',
      'in',
      mounts.map((mount) => mount.name),
    )
    .execute()
    .catch((error: unknown) => {
      throw errors.volumeMountsFailed(error);
    });
  const ids = new Map(rows.map((row) => [row.name, row.id]));
  const problems = mounts.flatMap((mount, index) => {
    const problem = mountProblem(mount, mounts.slice(0, index), ids);
    return problem === undefined ? [] : [`[${index}] ${problem}`];
  });
  if (problems.length > 0) throw errors.badRequest(`volumeMounts: ${problems.join('; ')}`);
  return mounts.map(({ name, path }) => ({ name, path, volumeId: ids.get(name)! }));
}

/** Returns the problem of one mount; undefined when there is none. Pure. */
export function mountProblem(mount: Mount, before: Mount[], ids: Map<string, string>): string | undefined {
  if (!ids.has(mount.name)) return `volume '${mount.name.slice(0, 128)}' not found`;
  const { path } = mount;
  if (path === '') return 'the path is empty';
  if (!path.startsWith('/')) return 'the path is not absolute';
  const parts = path.split('/').slice(1);
  if (path === '/' || parts.some((part) => part === '' || part === '.' || part === '..'))
    return 'the path is not clean';
  if (KERNEL.includes(parts[0]!)) return `nothing can be mounted in /${parts[0]}, which is the kernel's`;
  if (Buffer.byteLength(path) > MAX_PATH || parts.some((part) => Buffer.byteLength(part) > MAX_PART))
    return 'the path is too long';
  if (before.some((other) => other.path === path)) return `the path '${path.slice(0, 200)}' is used twice`;
  return undefined;
}
