import { lstat, readdir, rm, rmdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { baseDirectory } from '@svc/runtime/host';
import {
  driverIsUp,
  otherUsersOfBases,
  removeDriverData,
  removeTree,
  takeDownDriver,
} from '@svc/runtime/linux';
import { lockDirectory } from '#support/directory-lock';
import { driverPrograms } from '../config/driver-options.js';
import { dataLayout } from '../storage/data/data-layout.js';

/** The server cannot be removed: a sentence for the operator. */
export class UninstallError extends Error {
  override readonly name = 'UninstallError';
}

export interface UninstallOptions {
  dataDir: string;
  /** True when everything that is stored stays, for a later start. */
  keepData: boolean;
  /** Directory of the bases. */
  baseDirectory?: string | undefined;
}

export interface UninstallReport {
  /** Sandboxes that ran and were ended. */
  destroyed: number;
  /** Paths that were deleted. */
  removed: string[];
  /** Paths in the data directory, or beside, that are others'. */
  left: string[];
}

/** Files that the service puts into a data directory, and names that it derives from those. */
const OWN =
  /^(server|driver|volumes|builds)((\.before-\d{14}|\.restored|\.new)?)$|^upgrade$|^(server\.(db|key|log|lock)|node-id|operator-token|credentials\.json|running\.json|runtime\.sock|restore|upgrade\.lock|driver\.lock)([-.].*)?$/;
/** Every server has it. */
const NODE = 'node-id';
const isMark = (name: string) => name === NODE || name === 'server';
/** Files that `svc server doctor --fix` got for the whole machine, where they are in the data directory. */
const OF_THE_MACHINE = ['base', 'criu', 'runsc'];

/**
 * Removes what a server has on this machine, as root: its sandboxes first, then what its driver made of the host, and, unless it
 * is kept, all that it stored. The server itself must have ended.
 * @throws {UninstallError}, {DriverError}
 */
export async function uninstallServer(options: UninstallOptions): Promise<UninstallReport> {
  if (process.getuid?.() !== 0) throw new UninstallError('A server is removed by root: try with sudo');
  const dataDir = resolve(options.dataDir);
  const { runtime } = dataLayout(dataDir);
  // Names alone say little: a directory that no server ever used is nothing to remove.
  if (!(await isThere(join(dataDir, 'server', NODE))) && !(await isThere(join(dataDir, NODE))))
    throw new UninstallError(`There is no data of a server in ${dataDir}`);
  const isLinux = (await lstat(join(runtime, 'store')).catch(() => undefined)) !== undefined;
  const bases = options.baseDirectory === undefined ? {} : { baseDirectory: options.baseDirectory };
  let destroyed = 0;
  if (await isThere(runtime)) {
    const lock = await lockDirectory(runtime, 'driver.lock').catch((cause: unknown) => {
      throw new UninstallError(
        `A server runs in ${dataDir}: stop it first (svc server down, or systemctl disable --now svc svc-runtime)`,
        { cause },
      );
    });
    await lock.release();
    if (isLinux && ((await hasRecords(runtime)) || driverIsUp(runtime)))
      ({ destroyed } = await takeDownDriver({ dataDir: runtime, daemon: driverPrograms().daemon, ...bases }));
  }
  if (options.keepData) return { destroyed, removed: [], left: [] };
  const removed: string[] = [];
  const remove = async (path: string, how: (path: string) => Promise<void>) => {
    await how(path);
    removed.push(path);
  };
  if (isLinux) await remove(runtime, (path) => removeDriverData({ dataDir: path, ...bases }));
  // The files that identify the directory go last: an uninstall that broke off can be run again.
  const names = (await ownNames(dataDir)).sort((a, b) => Number(isMark(a)) - Number(isMark(b)));
  for (const name of names) await remove(join(dataDir, name), removeTree);
  if (dirname(baseDirectory(bases)) === dataDir && otherUsersOfBases(runtime, bases).length === 0)
    for (const name of OF_THE_MACHINE)
      if (await isThere(join(dataDir, name)))
        await remove(join(dataDir, name), (path) => rm(path, { recursive: true, force: true }));
  const left = (await readdir(dataDir)).map((name) => join(dataDir, name));
  // A mount point stays, empty.
  if (left.length === 0)
    await rmdir(dataDir).then(
      () => removed.push(dataDir),
      () => left.push(dataDir),
    );
  return { destroyed, removed, left };
}

async function ownNames(dataDir: string): Promise<string[]> {
  const names = await readdir(dataDir).catch(() => []);
  return names.filter((name) => OWN.test(name));
}

async function hasRecords(runtime: string): Promise<boolean> {
  return (await readdir(join(runtime, 'instances')).catch(() => [])).length > 0;
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}
