import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { VolumeDirectories } from '@svc/runtime';
import type { VolumeStore } from './directories.js';
import type { VolumesOptions } from './open.js';

/** Volumes in a store of the driver: what programs write into one can neither pass its limit nor hinder its removal. */
export function createLimitedVolumeStore(
  directories: VolumeDirectories,
  { isMounted, exists, limitMiB }: Pick<VolumesOptions, 'isMounted' | 'exists' | 'limitMiB'>,
): VolumeStore {
  return {
    async hostDirectory(volumeId) {
      const limit = await limitMiB(volumeId);
      await directories.make(volumeId, limit === undefined ? {} : { limitMiB: limit });
      return path.join(await directories.root(), volumeId);
    },
    async usedBytes(volumeId) {
      return (await directories.usedBytes(volumeId)) ?? 0;
    },
    async discard(volumeId) {
      if (!isMounted(volumeId)) await directories.delete(volumeId);
    },
    async emptyTrash() {
      for (const volumeId of await readdir(await directories.root())) {
        if (volumeId.startsWith('.') || isMounted(volumeId)) continue;
        // A record is made before its directory, so this one was deleted.
        if (!(await exists(volumeId))) await directories.delete(volumeId);
      }
    },
  };
}
