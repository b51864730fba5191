import { execFile } from 'node:child_process';
import { chmod, chown, lstat, mkdir, readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { lockDirectory } from '#support/directory-lock';
import { DataDirectoryError, requireWhole } from './private-directory.js';
import type { ServiceUser } from './service-user.js';

/** The two parts of the data directory of a server that runs as two processes. */
interface DataLayout {
  /** Root's: the driver's files, and the socket between the two. */
  runtime: string;
  /** The service user's: database, keys, uploads. */
  server: string;
}

/** Keeps its name from before: the names of what runs are made of its path. */
const RUNTIME = 'driver';
const SERVER = 'server';
/** Files that a server of one process kept in the directory itself. Anything else there may be root's, such as its own CRIU. */
const OF_SERVER = [
  'server.db',
  'server.db-shm',
  'server.db-wal',
  'server.key',
  'node-id',
  'node-epoch',
  'operator-token',
  'credentials.json',
  'running.json',
  'builds',
];

export function dataLayout(dataDir: string): DataLayout {
  return { runtime: join(dataDir, RUNTIME), server: join(dataDir, SERVER) };
}

/**
 * Makes the two parts. The directory itself stays root's, so that the service user can put nothing in the runtime's way.
 * Files that a server of one process left move to the server's part, once.
 * @throws {DataDirectoryError} when the parts belong to others; {DirectoryLockedError} while a server of one process runs
 */
export async function prepareDataLayout(dataDir: string, user: ServiceUser): Promise<DataLayout> {
  const layout = dataLayout(dataDir);
  await requireWhole(dataDir);
  await mkdir(dataDir, { recursive: true, mode: 0o710 });
  const { uid, mode } = await stat(dataDir);
  if (uid !== 0)
    throw new DataDirectoryError(
      `the data directory ${dataDir} belongs to another user, who could put files in root's way: give it to root (chown root ${dataDir}), or name another directory`,
    );
  // Another writer could have put links there, which root would follow.
  if ((mode & 0o022) !== 0)
    throw new DataDirectoryError(
      `the data directory ${dataDir} is open to writes of other users: look at what is in it, close it (chmod go-w ${dataDir}), or name another directory`,
    );
  await chown(dataDir, 0, user.gid);
  await chmod(dataDir, 0o710);
  await mkdir(layout.runtime, { recursive: true, mode: 0o700 });
  await requireOwner(layout.runtime, 0, 'root');
  const before = await lstat(layout.server).catch(() => undefined);
  if (before === undefined) await makeServerPart(dataDir, layout.server, user);
  await requireOwner(layout.server, user.uid, user.name);
  return layout;
}

async function makeServerPart(dataDir: string, server: string, user: ServiceUser): Promise<void> {
  const draft = `${server}.new`;
  await mkdir(draft, { recursive: true, mode: 0o700 });
  // Only root could write here so far, so no link leads out of it.
  const lock = await lockDirectory(dataDir, 'server.lock');
  await lock.release();
  const found = new Set(await readdir(dataDir));
  for (const name of OF_SERVER) if (found.has(name)) await rename(join(dataDir, name), join(draft, name));
  await adoptEarlierVolumes(dataDir, join(dataDir, RUNTIME));
  await promisify(execFile)('chown', ['-R', '-h', `${user.uid}:${user.gid}`, draft]);
  await rename(draft, server);
}

async function requireOwner(directory: string, uid: number, name: string): Promise<void> {
  const found = await lstat(directory);
  if (!found.isDirectory()) throw new DataDirectoryError(`${directory} is no directory: name another one`);
  if (found.uid !== uid)
    throw new DataDirectoryError(
      `${directory} belongs to user ${found.uid} and not to ${name}: run with --user as before, or give it to ${name} (chown -R ${uid} ${directory}) while no server runs`,
    );
}

/**
 * Gives the driver the volumes that servers before it kept themselves, in `volumes` of the data directory. A driver with
 * volumes of its own there already keeps those; the earlier ones stay where they are then.
 */
export async function adoptEarlierVolumes(dataDir: string, driverDir: string): Promise<void> {
  await mkdir(driverDir, { recursive: true, mode: 0o700 });
  await rename(join(dataDir, 'volumes'), join(driverDir, 'volumes')).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
}

/** The socket of a data directory's `svc-runtime`: the service user cannot enter root's part, so it is beside that. */
export const runtimeSocket = (dataDir: string): string => join(dataDir, 'runtime.sock');

/** File with the token of a `svc-runtime` that runs by itself, for root and the service user's group. */
export const runtimeTokenFile = (socketPath: string): string => `${socketPath}.token`;
