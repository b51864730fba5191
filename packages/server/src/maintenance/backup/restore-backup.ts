import { execFile } from 'node:child_process';
import { chmod, chown, lstat, mkdir, readdir, rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';
import { DriverError } from '@svc/runtime/contract';
import {
  driverIsUp,
  entryKinds,
  openStoreRestore,
  removeTree,
  type StoreEntry,
  type StoreRestore,
  unpackTree,
} from '@svc/runtime/linux';
import { lockDirectory } from '#support/directory-lock';
import { dataLayout } from '../../storage/data/data-layout.js';
import { isHalfRestored, markRestore, unmarkRestore } from '../../storage/data/private-directory.js';
import { findHindrance, findServiceUser, type ServiceUser } from '../../storage/data/service-user.js';
import { type BackupArchive, openArchive } from './archive-reader.js';
import { BackupError } from './backup-error.js';
import {
  type BackupDescription,
  DESCRIPTION,
  parseDescription,
  parseStoreMember,
  SERVER_MEMBER,
  storeMember,
} from './description.js';
import { SERVER_PART } from './server-part.js';

export interface CheckOptions {
  file: string;
  signal?: AbortSignal | undefined;
  /** Receives the bytes of the file that were checked, or the member that was restored. */
  onProgress?: ((what: string, done: number, of: number) => void) | undefined;
}

export interface RestoreOptions extends CheckOptions {
  dataDir: string;
  /** User that the server will run as. Default `svc`, which is made where it is missing. */
  user?: string | undefined;
  /** Moves existing data aside. */
  force?: boolean | undefined;
  baseDirectory?: string | undefined;
  /** Size of the new store's image, MiB. */
  storeSizeMiB?: number | undefined;
}

/** The content of a backup, by its description and its members. */
export interface CheckedBackup {
  description: BackupDescription;
  entries: StoreEntry[];
}

export interface RestoreReport extends CheckedBackup {
  dataDir: string;
  /** The present place of earlier data. */
  movedTo: string[];
}

/** Reads a backup to its end and changes nothing. @throws {BackupError} what is wrong with it */
export async function checkBackup(options: CheckOptions): Promise<CheckedBackup> {
  const { archive, ...checked } = await openChecked(options);
  await archive.close();
  return checked;
}

/**
 * Makes a data directory of a backup, as root. The backup is checked to its end before anything is changed, and nothing of it
 * has its name in the data directory before all of it is there: after any interruption a server never starts on a part.
 * @throws {BackupError}, {DriverError}, {DirectoryLockedError} while another restore works there
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreReport> {
  if (process.getuid?.() !== 0)
    throw new BackupError('A backup is restored by root.', { hint: 'Try with sudo.' });
  const dataDir = resolve(options.dataDir);
  // Impossible requests are refused before gigabytes are read.
  await requireRoom(dataDir, options.force === true);
  const { archive, description, entries } = await openChecked(options);
  try {
    const user = await chooseUser(options.user, dataDir);
    await mkdir(dataDir, { recursive: true, mode: 0o710 });
    const lock = await lockDirectory(dataDir, 'restore.lock');
    try {
      await requireRoom(dataDir, options.force === true);
      const movedTo = await restoreInto(dataDir, user, archive, entries, options);
      return { description, entries, dataDir, movedTo };
    } finally {
      await lock.release();
    }
  } finally {
    await archive.close();
  }
}

async function openChecked({
  file,
  signal,
  onProgress,
}: CheckOptions): Promise<CheckedBackup & { archive: BackupArchive }> {
  const archive = await openArchive(file, {
    ...(signal === undefined ? {} : { signal }),
    onProgress: (done, of) => onProgress?.('checked', done, of),
  });
  try {
    const [first, second, ...rest] = archive.names;
    if (first !== DESCRIPTION || second !== SERVER_MEMBER)
      throw new BackupError(`The backup ${file} is refused: it does not begin as a backup does.`);
    const description = parseDescription(await archive.text(DESCRIPTION));
    const entries = rest.map((name) => {
      const entry = parseStoreMember(name);
      if (entry !== undefined) return entry;
      throw new BackupError(`The backup ${file} is refused: it has an entry that no backup has.`);
    });
    return { archive, description, entries };
  } catch (error) {
    await archive.close();
    throw error;
  }
}

/** The user of the server, or undefined where it will run as root, in one process. */
async function chooseUser(name: string | undefined, dataDir: string): Promise<ServiceUser | undefined> {
  const user = await findServiceUser(name);
  const hindrance = await findHindrance(user, dataDir);
  if (hindrance !== undefined && name !== undefined) throw new BackupError(`${hindrance}.`);
  return hindrance === undefined ? user : undefined;
}

/** Finds the data of a server in its data directory. */
const DATA: readonly string[] = ['server', 'driver', 'volumes', ...SERVER_PART];

/** @throws {BackupError} where there is data that may not be moved, or that is in use */
async function requireRoom(dataDir: string, force: boolean): Promise<void> {
  const found = await dataIn(dataDir);
  if (found.length === 0 || (await isHalfRestored(dataDir))) return;
  const { runtime } = dataLayout(dataDir);
  if (!force)
    throw new BackupError(`${dataDir} holds data of a server already (${found.join(', ')}).`, {
      hint: 'Restore into another directory with --data-dir. Or, once you are sure that what is there is not needed: stop its server and its sandboxes, and let --force move it aside.',
    });
  const lock = await lockDirectory(runtime, 'driver.lock').catch((cause: unknown) => {
    throw new BackupError(`A server runs in ${dataDir}.`, { hint: 'Stop it first: svc server down', cause });
  });
  await lock.release();
  if (driverIsUp(runtime))
    throw new BackupError(`Sandboxes of ${dataDir} still run.`, {
      hint: 'End them first, with everything else that the server has on this machine: svc server uninstall --keep-data',
    });
}

async function dataIn(dataDir: string): Promise<string[]> {
  const names = await readdir(dataDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new BackupError(`${dataDir} cannot be used: ${error.message}.`, { cause: error });
  });
  return names.filter((name) => DATA.includes(name));
}

async function restoreInto(
  dataDir: string,
  user: ServiceUser | undefined,
  archive: BackupArchive,
  entries: readonly StoreEntry[],
  options: RestoreOptions,
): Promise<string[]> {
  const layout = dataLayout(dataDir);
  const drafts = { runtime: `${layout.runtime}.restored`, server: `${layout.server}.restored` };
  const half = await isHalfRestored(dataDir);
  await markRestore(dataDir);
  let done = 0;
  const report = (name: string) => options.onProgress?.(name, ++done, entries.length + 1);
  try {
    for (const draft of Object.values(drafts)) await removeTree(draft);
    // A restore that broke off between its last two steps left it.
    if (half && options.force !== true)
      for (const name of await dataIn(dataDir)) await removeTree(join(dataDir, name));
    await mkdir(drafts.server, { mode: 0o700 });
    await unpack(archive, SERVER_MEMBER, options.signal, (tar) => unpackTree(drafts.server, tar));
    await requireKnown(drafts.server);
    if (user !== undefined)
      await promisify(execFile)('chown', ['-R', '-h', `${user.uid}:${user.gid}`, drafts.server]);
    report(SERVER_MEMBER);
    await mkdir(drafts.runtime, { mode: 0o700 });
    const store = await openStoreRestore({
      draft: drafts.runtime,
      dataDir: layout.runtime,
      baseDirectory: options.baseDirectory,
      storeSizeMiB: options.storeSizeMiB,
    });
    await unpackStore(store, archive, entries, options.signal, report);
  } catch (error) {
    for (const draft of Object.values(drafts)) await removeTree(draft);
    if (!half) await unmarkRestore(dataDir);
    throw error;
  }
  const movedTo = half && options.force !== true ? [] : await moveAside(dataDir);
  if (user !== undefined) await chown(dataDir, 0, user.gid);
  await chmod(dataDir, user === undefined ? 0o700 : 0o710);
  await rename(drafts.runtime, layout.runtime);
  if (user !== undefined) await rename(drafts.server, layout.server);
  else {
    for (const name of await readdir(drafts.server))
      await rename(join(drafts.server, name), join(dataDir, name));
    await removeTree(drafts.server);
  }
  await unmarkRestore(dataDir);
  return movedTo;
}

async function unpackStore(
  store: StoreRestore,
  archive: BackupArchive,
  entries: readonly StoreEntry[],
  signal: AbortSignal | undefined,
  report: (name: string) => void,
): Promise<void> {
  try {
    const ordered = [...entries].sort((a, b) => entryKinds.indexOf(a.kind) - entryKinds.indexOf(b.kind));
    for (const entry of ordered) {
      const name = storeMember(entry);
      if (!store.adopt(entry)) await unpack(archive, name, signal, (tar) => store.unpack(entry, tar));
      report(name);
    }
  } catch (error) {
    await store.discard();
    throw error;
  }
  await store.close();
}

async function unpack(
  archive: BackupArchive,
  name: string,
  signal: AbortSignal | undefined,
  take: (tar: Readable) => Promise<void>,
): Promise<void> {
  signal?.throwIfAborted();
  const tar = createGunzip();
  const abort = () => tar.destroy(signal?.reason as Error);
  signal?.addEventListener('abort', abort, { once: true });
  pipeline(archive.read(name), tar, () => undefined);
  try {
    await take(tar);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof BackupError) throw error;
    const { detail } = DriverError.is(error) ? error : { detail: undefined };
    const why = [(error as Error).message.replace(/\.$/, ''), detail].filter(Boolean).join(': ');
    throw new BackupError(`${name} of the backup cannot be restored: ${why}.`, { cause: error });
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

/** The server's user owns the unpacked files: a link there would lead their readers, root too, out of the directory. */
async function requireKnown(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const found = await lstat(join(directory, name));
    const fits = name === 'builds' ? found.isDirectory() : found.isFile() && found.nlink === 1;
    if (!SERVER_PART.includes(name) || !fits)
      throw new BackupError(`The backup is refused: ${SERVER_MEMBER} holds what no server keeps.`);
  }
}

/** Gives data that is there other names. */
async function moveAside(dataDir: string): Promise<string[]> {
  const stamp = new Date().toISOString().replace(/\D/g, '').slice(0, 14);
  const moved: string[] = [];
  for (const name of await dataIn(dataDir)) {
    const target = join(dataDir, `${name}.before-${stamp}`);
    await rename(join(dataDir, name), target);
    moved.push(target);
  }
  return moved;
}
