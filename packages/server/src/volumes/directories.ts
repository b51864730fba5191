import { chmod, mkdir, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { removeAll } from '../recovery/remove-all.js';

/** Where the files of volumes stand: `volumes/<id>` in the data directory; deleted ones wait in `volumes/.trash`. */
export interface VolumeStore {
  /** Absolute path of the volume's directory, made when missing. */
  hostDirectory(volumeId: string): Promise<string>;
  /** Takes a volume's files out of reach at once; they are removed in the background. */
  discard(volumeId: string): Promise<void>;
  /** Removes what could not be removed before. @throws {AggregateError} when something stays */
  emptyTrash(): Promise<void>;
}

export function createVolumeStore(dataDir: string): VolumeStore {
  const root = path.join(dataDir, 'volumes');
  const trash = path.join(root, '.trash');
  const directory = (volumeId: string) => path.join(root, volumeId);
  return {
    async hostDirectory(volumeId) {
      const made = await mkdir(directory(volumeId), { recursive: true });
      // Every user inside a sandbox may write to it: sandboxes know only that the volume is their team's.
      if (made !== undefined) await chmod(directory(volumeId), 0o777);
      return directory(volumeId);
    },
    async discard(volumeId) {
      await mkdir(trash, { recursive: true });
      const dead = path.join(trash, `${volumeId}.${process.pid}.${process.hrtime.bigint()}`);
      try {
        await rename(directory(volumeId), dead);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
        throw error;
      }
      // A sandbox that has it mounted keeps what it holds open; the rest goes, now or with the next clean-up.
      void rm(dead, { recursive: true, force: true }).catch(() => {});
    },
    async emptyTrash() {
      const names = await readdir(trash).catch(() => []);
      await removeAll(names.map((name) => path.join(trash, name)));
    },
  };
}
