import { existsSync, renameSync } from 'node:fs';
import { randomId } from '../../shared/instance-id.js';
import type { Checkpoints } from '../../shared/instance-registry.js';
import type { LinuxHost } from '../host/linux-host.js';
import { type CheckpointRecord, readCheckpoint } from './checkpoint.js';
import { forgetImages } from './image-directory.js';

/** The checkpoints in the store. @param attempt runs clean-up that is tried again when it fails. */
export function linuxCheckpoints(
  host: LinuxHost,
  attempt: (name: string, task: () => Promise<void>) => Promise<unknown>,
): Checkpoints<CheckpointRecord> {
  const { store } = host;
  return {
    async list() {
      await host.up();
      // The name of a draft begins with a dot.
      return store.list('c').flatMap((id) => (id.startsWith('.') ? [] : (readCheckpoint(host, id) ?? [])));
    },
    async find(id) {
      await host.up();
      return readCheckpoint(host, id);
    },
    /** Settles once its name is free; its room becomes free soon after. */
    async delete(id) {
      const keeper = await host.up();
      if (!existsSync(store.view(`c/${id}`))) return;
      const aside = `c/.gone-${randomId()}`;
      renameSync(store.view(`c/${id}`), store.view(aside));
      const forgotten = forgetImages(keeper, id);
      const removed = attempt(aside, async () => {
        await forgotten;
        await host.up();
        await store.remove(aside);
      });
      host.background.add(removed.then(() => undefined));
    },
  };
}
