import { chmod, mkdir, readdir, rename } from 'node:fs/promises';
import path from 'node:path';
import type { VolumeStore } from '../context/volume-store.js';
import { removeAll } from '../work/remove-all.js';

/** @param isMounted whether a sandbox of this server, running or about to run, has a volume mounted. */
export function createVolumeStore(dataDir: string, isMounted: (volumeId: string) => boolean): VolumeStore {
  const root = path.join(dataDir, 'volumes');
  const trash = path.join(root, '.trash');
  const directory = (volumeId: string) => path.join(root, volumeId);
  return {
    async hostDirectory(volumeId) {
      // What sandboxes write, set-uid programs too, is nothing for other users of the host.
      await mkdir(root, { recursive: true, mode: 0o700 });
      const made = await mkdir(directory(volumeId), { recursive: true });
      // Every user inside a sandbox may write to it: sandboxes know only that the volume is their team's.
      if (made !== undefined) await chmod(directory(volumeId), 0o777);
      return directory(volumeId);
    },
    usedBytes: async () => 0,
    async discard(volumeId) {
      await mkdir(trash, { recursive: true, mode: 0o700 });
      const dead = path.join(trash, `${volumeId}.${process.pid}.${process.hrtime.bigint()}`);
      try {
        await rename(directory(volumeId), dead);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
        throw error;
      }
      if (!isMounted(volumeId)) void removeAll([dead]).catch(() => {});
    },
    async emptyTrash() {
      const names = await readdir(trash).catch(() => []);
      const free = names.filter((name) => !isMounted(name.slice(0, name.indexOf('.'))));
      await removeAll(free.map((name) => path.join(trash, name)));
    },
  };
}
