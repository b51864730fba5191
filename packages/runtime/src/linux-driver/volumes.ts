import { existsSync, renameSync } from 'node:fs';
import { KeyedMutex } from '#support/keyed-mutex';
import { randomId, requireVolumeId } from '../shared/instance-id.js';
import type { RetryLater } from '../shared/retry-later.js';
import type { HostVolumes } from '../volumes/content.js';
import type { LinuxHost } from './host/linux-host.js';
import { storageFull } from './store/storage-full.js';

const TIMEOUT_MS = 30_000;
/** The prefix of names of volumes that are about to be removed. */
const DELETED = '.gone-';

/**
 * Volumes as subvolumes of the store: what programs write into one counts against its own limit, and all of them against
 * the store's size, never against the file system that the service's database is on.
 */
export function linuxVolumes(host: LinuxHost, cleanUp: RetryLater): HostVolumes {
  const mutex = new KeyedMutex();
  /** Limits that this process set. */
  const limits = new Map<string, number | undefined>();
  /** Numbers of subvolumes. */
  const numbers = new Map<string, number>();
  const { store } = host;
  const find = async (id: string): Promise<number | undefined> => {
    await host.up();
    if (!existsSync(store.view(`v/${id}`))) return undefined;
    const subvolume = await store.subvolumeOf(`v/${id}`).catch(() => undefined);
    if (subvolume !== undefined) numbers.set(id, subvolume);
    return subvolume;
  };
  return {
    async path(id) {
      await host.up();
      return store.view(`v/${requireVolumeId(id)}`);
    },
    async list() {
      await host.up();
      return store.list('v').filter((name) => !name.startsWith('.'));
    },
    content(id) {
      return host.volumeProcess.content(id);
    },
    make(id, { limitMiB } = {}) {
      requireVolumeId(id);
      return mutex.run(id, async () => {
        await host.up();
        if (limits.has(id) && limits.get(id) === limitMiB) return;
        const limit = limitMiB === undefined ? 'none' : `${limitMiB}M`;
        const { subvolume } = await host.space.withRoom(() =>
          store.run(
            { name: 'volume_make', arguments: [id, store.quota ? limit : ''] },
            { message: 'The volume could not be made.', timeoutMs: TIMEOUT_MS },
          ),
        );
        limits.set(id, limitMiB);
        numbers.set(id, Number(subvolume));
      });
    },
    delete(id) {
      requireVolumeId(id);
      return mutex.run(id, async () => {
        await host.up();
        limits.delete(id);
        numbers.delete(id);
        const aside = `v/${DELETED}${randomId()}`;
        const isThere = await host.space.withRoom(async () =>
          rename(store.view(`v/${id}`), store.view(aside)),
        );
        if (!isThere) return;
        host.background.add(cleanUp.attempt(aside, () => removeVolume(host, aside)).then(() => undefined));
      });
    },
    async usedBytes(id) {
      requireVolumeId(id);
      const subvolume = numbers.get(id) ?? (await find(id));
      return subvolume === undefined ? 0 : store.usedBytes(subvolume);
    },
    async reap() {
      await host.up();
      for (const name of store.list('v'))
        if (name.startsWith(DELETED))
          await cleanUp.attempt(`v/${name}`, () => removeVolume(host, `v/${name}`));
    },
  };
}

/** Resolves to whether there was something to rename. */
function rename(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw storageFull(error);
  }
}

// As a whole: nobody walks through what tenants wrote.
async function removeVolume(host: LinuxHost, path: string): Promise<void> {
  await host.up();
  await host.store.run(
    { name: 'volume_remove', arguments: [path] },
    { message: 'A volume could not be removed.', timeoutMs: TIMEOUT_MS },
  );
}
