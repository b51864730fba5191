import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Driver } from '@svc/runtime';
import { createVolumeStore, type VolumeStore } from './directories.js';
import { createLimitedVolumeStore } from './limited-directories.js';

export interface VolumesOptions {
  dataDir: string;
  driver: Pick<Driver, 'volumes'>;
  /** Whether a sandbox of this server, running or about to run, has a volume mounted. */
  isMounted(volumeId: string): boolean;
  /** Whether a team has it. */
  exists(volumeId: string): Promise<boolean>;
  /** Most that a volume may hold; undefined for one that no team has. */
  limitMiB(volumeId: string): Promise<number | undefined>;
}

/**
 * Where volumes stand: in the driver's own store, which limits them, else in the data directory. Those that are in the
 * data directory from before stay there.
 */
export function openVolumes(options: VolumesOptions): VolumeStore {
  const { dataDir, driver, isMounted } = options;
  const plain = createVolumeStore(dataDir, isMounted);
  if (driver.volumes === undefined) return plain;
  const limited = createLimitedVolumeStore(driver.volumes, options);
  const storeOf = (volumeId: string) =>
    existsSync(path.join(dataDir, 'volumes', volumeId)) ? plain : limited;
  return {
    hostDirectory: (volumeId) => storeOf(volumeId).hostDirectory(volumeId),
    usedBytes: (volumeId) => storeOf(volumeId).usedBytes(volumeId),
    discard: (volumeId) => storeOf(volumeId).discard(volumeId),
    async emptyTrash() {
      await plain.emptyTrash();
      await limited.emptyTrash();
    },
  };
}
