import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { type BaseOptions, baseDirectory } from '../host/base-root.js';
import { removeTree } from '../jail/remove-tree.js';
import { pathsOf } from '../linux-driver/state/paths.js';
import { runUnpacking } from '../linux-driver/transfer/run-tar.js';
import { unpackCommand } from '../linux-driver/transfer/tar-commands.js';
import { lockDataDir } from '../shared/data-dir-lock.js';
import { mountingStore } from './open-store.js';
import type { StoreEntry } from './store-entry.js';

const CALL_MS = 300_000;

export interface StoreRestoreOptions extends BaseOptions {
  /** An empty directory, or none: the data directory of a driver while it is made. */
  draft: string;
  /** Where it will be, once it is whole. */
  dataDir: string;
  /** Size of the store's image, MiB. Default that of the driver's options. */
  storeSizeMiB?: number | undefined;
}

/** Storage of a `linux` driver that is made of a backup. */
export interface StoreRestore {
  /** Unpacks an entry. Those that others stand on come first: in the order of `entryKinds`. */
  unpack(entry: StoreEntry, tar: Readable): Promise<void>;
  /** True if an entry is on this machine already: a base, which this data directory uses from now on too. */
  adopt(entry: StoreEntry): boolean;
  /** Unmounts it. */
  close(): Promise<void>;
  /** Removes what cannot be removed as files, and unmounts it: the draft is of no use. */
  discard(): Promise<void>;
}

/** Unpacks an archive into a directory, as root, in a process that sees nothing else. @throws {DriverError} `invalid_archive` */
export function unpackTree(directory: string, tar: Readable): Promise<void> {
  return runUnpacking(unpackCommand(directory), tar);
}

/** Makes the storage of a driver, as root. The draft is whole once it is closed, and may then be moved to its place. */
export async function openStoreRestore(options: StoreRestoreOptions): Promise<StoreRestore> {
  const { draft, storeSizeMiB: sizeMiB } = options;
  const below = baseDirectory(options);
  const paths = pathsOf(draft);
  const lock = await lockDataDir(draft);
  const store = await mountingStore(paths, lock, { below, sizeMiB }).catch(async (error: unknown) => {
    await lock.release();
    throw error;
  });
  const tag = pathsOf(options.dataDir).tag;
  const unpackInto = (path: string, tar: Readable) =>
    runUnpacking(store.keeper.enter(unpackCommand(join(paths.store, path))), tar);
  try {
    // The root file systems that instances are based on belong to this machine, and are numbered first.
    for (const name of ['base_root_make', 'writable_of_skeleton']) await store.run({ name }, CALL_MS);
  } catch (error) {
    await store.close();
    throw error;
  }
  return {
    adopt({ kind, id }) {
      if (kind !== 'base' || !existsSync(join(below, id, 'base.json'))) return false;
      linkUser(join(below, id), { tag, dataDir: options.dataDir });
      return true;
    },
    async unpack({ kind, id }, tar) {
      switch (kind) {
        case 'agent':
          mkdirSync(store.keeper.view(join(paths.store, 'agents', id)), { mode: 0o755 });
          return unpackInto(`agents/${id}`, tar);
        case 'base':
          return unpackBase(below, id, { tag, dataDir: options.dataDir }, tar);
        case 'layer': {
          const path = `l/${id}`;
          await store.run({ name: 'layer_begin', arguments: [path] }, CALL_MS);
          await unpackInto(path, tar);
          const command = [
            'rm',
            '-rf',
            '--one-file-system',
            '--',
            `${path}/sv/root`,
            `${path}/sv/layer.json`,
          ];
          await store.run({ name: 'writable_of_layer', arguments: [path, ...command] }, CALL_MS);
          return;
        }
        case 'checkpoint':
          await store.run({ name: 'restore_begin_checkpoint', arguments: [`c/${id}`] }, CALL_MS);
          return unpackInto(`c/${id}`, tar);
        case 'volume':
          if (store.kind === 'btrfs') {
            await store.run({ name: 'restore_begin_volume', arguments: [`v/${id}`] }, CALL_MS);
            return unpackInto(`v/${id}`, tar);
          }
          mkdirSync(join(paths.volumes, id), { recursive: true, mode: 0o700 });
          return runUnpacking(unpackCommand(join(paths.volumes, id)), tar);
      }
    },
    close: () => store.close(),
    async discard() {
      try {
        await store.run({ name: 'restore_discard' }, CALL_MS);
      } finally {
        await store.close();
      }
    },
  };
}

/** Says that a data directory uses a base. */
function linkUser(base: string, { tag, dataDir }: { tag: string; dataDir: string }): void {
  const users = join(base, 'users');
  mkdirSync(users, { recursive: true });
  rmSync(join(users, tag), { force: true });
  symlinkSync(dataDir, join(users, tag));
}

/** Bases lie outside of the data directory, named after their content: one that is whole is as good as any other. */
async function unpackBase(
  directory: string,
  id: string,
  user: { tag: string; dataDir: string },
  tar: Readable,
): Promise<void> {
  const draft = join(directory, `.restored.${id}`);
  if (existsSync(draft)) await removeTree(draft);
  mkdirSync(draft, { recursive: true, mode: 0o755 });
  try {
    await runUnpacking(unpackCommand(draft), tar);
    linkUser(draft, user);
    renameSync(draft, join(directory, id));
    // Its recipe is the middle of its name. Where there is none of that recipe, new sandboxes stand on it, and none is built.
    for (const link of [id.split('-')[1]!, 'current'])
      if (!existsSync(join(directory, link))) symlinkSync(id, join(directory, link));
  } catch (error) {
    await removeTree(draft);
    throw error;
  }
}
