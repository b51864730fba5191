import { chmodSync, mkdirSync } from 'node:fs';
import type { VolumeDirectories } from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import { KeyedMutex } from '../shared/keyed-mutex.js';
import type { Host } from './host.js';
import { storageFull } from './storage-full.js';

const TIMEOUT_MS = 30_000;

/**
 * Volumes as subvolumes of the store: what programs write into one counts against its own limit, and all of them against
 * the store's size, never against the file system that the service's database is on.
 */
export function linuxVolumes(host: Host): VolumeDirectories {
  const mutex = new KeyedMutex();
  /** What was made or looked at by this process: the limit that is set and the number of the subvolume. */
  const known = new Map<string, { limitMiB: number | undefined; subvolume: number }>();
  return {
    async root() {
      const root = host.view(await host.up(), 'v');
      mkdirSync(root, { recursive: true, mode: 0o700 });
      return root;
    },
    make(id, { limitMiB } = {}) {
      if (!/^[a-z0-9-]{1,64}$/.test(id))
        throw new DriverError('invalid_spec', 'The name of the volume is not valid.');
      return mutex.run(id, async () => {
        const holder = await host.up();
        const before = known.get(id);
        if (before !== undefined && before.limitMiB === limitMiB) return;
        const limit = limitMiB === undefined ? 'none' : `${limitMiB}M`;
        const { stdout } = await host
          .inStore(
            holder,
            `set -e
mkdir -p -m 700 v
[ -d v/${id} ] || { btrfs subvolume create v/${id} >/dev/null; echo made; }
${host.store.quota ? `btrfs qgroup limit ${limit} v/${id} >/dev/null` : ''}
echo "id $(btrfs inspect-internal rootid v/${id})"`,
            'create_failed',
            TIMEOUT_MS,
          )
          .catch((error: unknown) => {
            throw storageFull(error);
          });
        // Every user inside a sandbox may write to it: sandboxes know only that the volume is their team's.
        if (/^made$/m.test(stdout)) chmodSync(host.view(holder, `v/${id}`), 0o777);
        known.set(id, { limitMiB, subvolume: Number(/^id (\d+)$/m.exec(stdout)?.[1]) });
      });
    },
    forget(id) {
      known.delete(id);
    },
    usedBytes(id) {
      const subvolume = known.get(id)?.subvolume;
      return subvolume === undefined ? undefined : host.store.usedBytes(subvolume);
    },
  };
}
