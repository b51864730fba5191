import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { VolumeDirectories } from '@svc/runtime';
import type { VolumeStore } from '../context/volume-store.js';

export interface LimitedVolumesOptions {
  /** Whether a sandbox of this server, running or about to run, has a volume mounted. */
  isMounted(volumeId: string): boolean;
  /** Whether a team has it. */
  exists(volumeId: string): Promise<boolean>;
  /** Most that a volume may hold; undefined for one that no team has. */
  limitMiB(volumeId: string): Promise<number | undefined>;
}

/** Volumes in a store of the driver: what programs write into one can neither pass its limit nor hinder its removal. */
export function createLimitedVolumeStore(
  directories: VolumeDirectories,
  { isMounted, exists, limitMiB }: LimitedVolumesOptions,
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
