import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Gives the driver the volumes that servers before it kept themselves, in `volumes` of the data directory. A driver with
 * volumes of its own there already keeps those; the earlier ones stay where they are then.
 */
export async function adoptEarlierVolumes(dataDir: string, driverDir: string): Promise<void> {
  await mkdir(driverDir, { recursive: true, mode: 0o700 });
  await rename(join(dataDir, 'volumes'), join(driverDir, 'volumes')).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
}
