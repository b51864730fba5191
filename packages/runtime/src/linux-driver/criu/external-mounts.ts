import { statSync } from 'node:fs';
import type { OciConfig } from '../oci/oci-config.js';

/** The file that hides a file of `/proc`, and the name of such mounts in images. */
const FILE_MASK = '/dev/null';
/** The name in images of a mount that hides a directory of `/proc`. No mount has that name: the target of one is a whole path. */
const DIRECTORY_MASK = 'empty';

/**
 * Setting of a restore, also of one by the OCI runtime, which knows no such mounts: an empty file system in the keeper's namespace
 * that is read-only (see `store_mount`), because root inside must not change what others have too.
 */
export const FIND_DIRECTORY_MASK = `external mnt[${DIRECTORY_MASK}]:/run/empty`;

type Mounts = Pick<OciConfig, 'mounts'>;

/**
 * Options of a dump for mounts whose content is not part of the images, by the names that the OCI runtime gives them. It hides a
 * directory behind an empty file system in memory. CRIU would pack each by three programs and unpack it by as many.
 */
export function mountsToName(pid: number, config: Mounts & { linux: { maskedPaths: string[] } }): string[] {
  const masked = config.linux.maskedPaths.flatMap((path) => {
    const found = statSync(`/proc/${pid}/root${path}`, { throwIfNoEntry: false });
    if (found === undefined) return [];
    return `mnt[${path}]:${found.isDirectory() ? DIRECTORY_MASK : FILE_MASK}`;
  });
  return [...bound(config).map(({ destination }) => `mnt[${destination}]:${destination}`), ...masked];
}

/** Options of a restore for them: where each name is now. */
export function mountsToFind(config: Mounts): string[] {
  return [
    ...bound(config).map(({ destination, source }) => `mnt[${destination}]:${source}`),
    `mnt[${FILE_MASK}]:${FILE_MASK}`,
  ];
}

function bound({ mounts }: Mounts) {
  return mounts.filter(({ type }) => type === 'bind');
}
