import type { Volumes } from '@svc/runtime';
import type { VolumeStore } from '../api/context/volume-store.js';

export interface VolumeStoreOptions {
  volumes: Volumes;
  /** Whether a sandbox of this server, running or about to run, has a volume mounted. */
  isMounted(volumeId: string): boolean;
  /** Whether a team has it. */
  exists(volumeId: string): Promise<boolean>;
  /** Most that a volume may hold; undefined for one that no team has. */
  limitMiB(volumeId: string): Promise<number | undefined>;
}

export function createVolumeStore({ volumes, isMounted, exists, limitMiB }: VolumeStoreOptions): VolumeStore {
  const store: VolumeStore = {
    async prepare(volumeId) {
      const limit = await limitMiB(volumeId);
      await volumes.make(volumeId, limit === undefined ? {} : { limitMiB: limit });
    },
    async content(volumeId) {
      await store.prepare(volumeId);
      return volumes.content(volumeId);
    },
    async usedBytes(volumeId) {
      return (await volumes.usedBytes(volumeId)) ?? 0;
    },
    async discard(volumeId) {
      if (!isMounted(volumeId)) await volumes.delete(volumeId);
    },
    async emptyTrash() {
      for (const volumeId of await volumes.list()) {
        // A record is made before its directory, so one without was deleted.
        if (!isMounted(volumeId) && !(await exists(volumeId))) await volumes.delete(volumeId);
      }
    },
  };
  return store;
}
