import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';

const MIB = 2 ** 20;
/** Default: a part of the file system, but no more than this. */
const SHARE = 0.05;
const MOST_BYTES = 2_048 * MIB;

/**
 * Bytes that stay free on the file system of a data directory, for the service's database and for the host.
 * @param dataDir need not exist yet.
 * @param reserveMiB Default 5 % of the file system, at most 2048.
 */
export function reserveBytes(dataDir: string, reserveMiB: number | undefined): number {
  if (reserveMiB !== undefined) return reserveMiB * MIB;
  for (let path = dataDir; ; path = dirname(path)) {
    try {
      const { blocks, bsize } = statfsSync(path);
      return Math.min(blocks * bsize * SHARE, MOST_BYTES);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || path === dirname(path)) throw error;
    }
  }
}
