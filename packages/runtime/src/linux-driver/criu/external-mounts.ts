import { statSync } from 'node:fs';
import type { OciConfig } from '../oci/oci-config.js';

/** What hides a file of `/proc` or `/sys`, and how such mounts are called in images. */
const MASK = '/dev/null';

type Mounts = Pick<OciConfig, 'mounts'>;

/** Options of a dump for mounts whose content is not part of the images, by the names that the OCI runtime gives them. */
export function mountsToName(pid: number, config: Mounts & { linux: { maskedPaths: string[] } }): string[] {
  const masked = config.linux.maskedPaths.filter((path) => {
    const found = statSync(`/proc/${pid}/root${path}`, { throwIfNoEntry: false });
    // The runtime hides a file behind /dev/null and a directory behind an empty file system.
    return found !== undefined && !found.isDirectory();
  });
  return [
    ...bound(config).map(({ destination }) => `mnt[${destination}]:${destination}`),
    ...masked.map((path) => `mnt[${path}]:${MASK}`),
  ];
}

/** Options of a restore for them: where each name is now. */
export function mountsToFind(config: Mounts): string[] {
  return [
    ...bound(config).map(({ destination, source }) => `mnt[${destination}]:${source}`),
    `mnt[${MASK}]:${MASK}`,
  ];
}

function bound({ mounts }: Mounts) {
  return mounts.filter(({ type }) => type === 'bind');
}
