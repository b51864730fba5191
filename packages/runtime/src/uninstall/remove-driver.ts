import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openStoreOf } from '../backup/open-store.js';
import type { DriverOptions } from '../contract/driver.js';
import { type BaseOptions, baseDirectory } from '../host/base-root.js';
import { removeTree } from '../jail/remove-tree.js';
import { createLinuxDriver } from '../linux-driver/create-linux-driver.js';
import { pathsOf } from '../linux-driver/state/paths.js';
import { isBuiltBase } from '../shared/base-name.js';

/** The result of a driver's removal. */
export interface RemovedDriver {
  /** Sandboxes that ran. */
  destroyed: number;
}

/**
 * Ends every sandbox of a data directory, as root, and takes down what its driver has on this machine: namespaces, mounts, cgroups,
 * network, rules, the claim on user ids. What is stored stays.
 * @throws {DriverError} `busy` while a server uses it
 */
export async function takeDownDriver(
  options: Pick<DriverOptions, 'dataDir' | 'daemon'> & BaseOptions,
): Promise<RemovedDriver> {
  const driver = await createLinuxDriver(options);
  const running = await driver.list();
  await driver.close({ destroyInstances: true });
  return { destroyed: running.length };
}

/** Removes what is stored in the data directory of a driver that was taken down, and its share in bases. */
export async function removeDriverData({
  dataDir,
  ...bases
}: { dataDir: string } & BaseOptions): Promise<void> {
  const paths = pathsOf(dataDir);
  // On the machine's own btrfs the store consists of subvolumes, which are no files.
  if (!existsSync(paths.storeImage) && existsSync(join(paths.store, 'empty'))) {
    const store = await openStoreOf(dataDir, baseDirectory(bases));
    await store.run({ name: 'restore_discard' }, 300_000);
    await store.close();
  }
  await removeTree(dataDir);
  for (const name of list(baseDirectory(bases)).filter(isBuiltBase))
    rmSync(join(baseDirectory(bases), name, 'users', paths.tag), { force: true });
}

/** Data directories, other than this one, whose sandboxes may stand on bases of this machine. */
export function otherUsersOfBases(dataDir: string, bases: BaseOptions = {}): string[] {
  const { tag } = pathsOf(dataDir);
  const directory = baseDirectory(bases);
  return list(directory)
    .filter(isBuiltBase)
    .flatMap((name) =>
      list(join(directory, name, 'users'))
        .filter((user) => user !== tag)
        .map((user) => join(directory, name, 'users', user))
        // The link of a deleted data directory counts for nothing.
        .filter((link) => existsSync(link)),
    );
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
