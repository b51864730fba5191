import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Driver } from '@svc/runtime';
import type { VolumeStore } from '../context/volume-store.js';
import { createVolumeStore } from './directories.js';
import { createLimitedVolumeStore, type LimitedVolumesOptions } from './limited-directories.js';

export interface VolumesOptions extends LimitedVolumesOptions {
  dataDir: string;
  driver: Pick<Driver, 'volumes'>;
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
