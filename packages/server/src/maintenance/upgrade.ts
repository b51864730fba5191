import { spawn } from 'node:child_process';
import { constants, lstatSync } from 'node:fs';
import { type FileHandle, lstat, open, rename, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { dataLayout } from '../storage/data/data-layout.js';
import { type Owner, rightsOf } from '../storage/data/service-user.js';
import { DATABASE, type DatabaseFacts, openServerPart } from './backup/server-part.js';

/** The second is there when the server was killed. What else SQLite keeps beside, it makes of these. */
const FILES = [DATABASE, `${DATABASE}-wal`] as const;
/** Should something else have taken the place of a file since it was looked at, this waits for nothing. */
const READ = ['dd', 'iflag=nofollow,nonblock', 'bs=1M', 'status=none'];
/** The place of the database that a copy replaces. */
const REPLACED = `${DATABASE}.replaced`;

/**
 * Copies the database of a server that does not run into `directory`, which is root's. The files are read with the rights of the
 * server's user, and only as files: what it put there instead, a link, a pipe or a device, could be without end, or never
 * begin. What an earlier {@link putBackDatabase} kept goes.
 * @returns whether there is a copy: not of a database in PostgreSQL
 */
export async function copyStoppedDatabase(dataDir: string, directory: string): Promise<boolean> {
  const { directory: from, owner } = await findServerPart(dataDir);
  await runAs(owner, from, ['rm', '-f', '--', REPLACED, `${REPLACED}-wal`]);
  for (const name of FILES) {
    const copy = join(directory, name);
    const draft = `${copy}.part`;
    for (const path of [draft, copy]) await rm(path, { force: true });
    const found = await lstat(join(from, name)).catch(() => undefined);
    if (found === undefined) continue;
    if (!found.isFile()) throw new UpgradeError(`${join(from, name)} is no file: it is not copied`);
    const file = await open(draft, 'wx', 0o600);
    try {
      await runAs(owner, from, [...READ, `if=./${name}`], { output: file });
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, copy);
  }
  return hasDatabaseCopy(directory);
}

/** Returns whether `directory` holds a copy that {@link copyStoppedDatabase} made. */
export function hasDatabaseCopy(directory: string): boolean {
  return lstatSync(join(directory, DATABASE), { throwIfNoEntry: false })?.isFile() === true;
}

/** Reads the copy into a file of its own, which has its name once it is whole. */
const TAKE = 'umask 077; rm -f -- "$1.put-back"; cat > "$1.put-back"; sync -- "$1.put-back"';
/** With its log, which would be applied to the older one. Where an attempt before this one came so far, that is done. */
const SET_ASIDE = `
  test -e "$2" || for end in -wal ''; do
    test ! -e "$1$end" || mv -f -- "$1$end" "$2$end"
  done
  rm -f -- "$1-wal" "$1-shm"`;

/**
 * Puts a copy in the place of the database of a server that does not run, with the rights of its user. What was there is kept
 * beside it. The copy stays; repeating it is fine.
 * @returns the file that what was there is kept in
 */
export async function putBackDatabase(dataDir: string, directory: string): Promise<string> {
  if (!hasDatabaseCopy(directory)) throw new UpgradeError(`There is no copy of the database in ${directory}`);
  const { directory: to, owner } = await findServerPart(dataDir);
  const sh = (script: string, ...args: string[]) => ['sh', '-euc', script, 'sh', ...args];
  const found = FILES.filter(
    (name) => lstatSync(join(directory, name), { throwIfNoEntry: false }) !== undefined,
  );
  for (const name of found) {
    const input = await open(join(directory, name), constants.O_RDONLY | constants.O_NOFOLLOW);
    await runAs(owner, to, sh(TAKE, name), { input }).finally(() => input.close());
  }
  await runAs(owner, to, sh(SET_ASIDE, DATABASE, REPLACED));
  for (const name of [...found].reverse())
    await runAs(owner, to, ['mv', '-f', '--', `${name}.put-back`, name]);
  return join(to, REPLACED);
}

/** Runs a program with the rights of the owner of the files, in their directory. */
async function runAs(
  owner: Owner,
  directory: string,
  command: readonly string[],
  { input, output }: { input?: FileHandle; output?: FileHandle } = {},
): Promise<void> {
  const child = spawn('setpriv', [...rightsOf(owner), '--', ...command], {
    cwd: directory,
    stdio: [input?.fd ?? 'ignore', output?.fd ?? 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-2_000);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0)
    throw new UpgradeError(
      `The database in ${directory} cannot be copied or put back: ${stderr.trim() || `${command[0]} ended with ${code}`}`,
    );
}

/** The files of a server, running or not, in its data directory. */
export interface StoredServer {
  /** Directory of its files, and who owns that. */
  directory: string;
  owner: Owner;
  /** Undefined for a server that uses PostgreSQL, or that has not started yet. */
  database: (DatabaseFacts & { sizeBytes: number }) | undefined;
  /** Free in the file system of the directory, for the owner. */
  freeBytes: number;
}

/** Finds the files of a server. @throws {UpgradeError} where there are none */
async function findServerPart(dataDir: string): Promise<Pick<StoredServer, 'directory' | 'owner'>> {
  const { server } = dataLayout(dataDir);
  const part = await lstat(server).catch(() => undefined);
  const directory = part === undefined ? dataDir : server;
  const found = part ?? (await lstat(dataDir).catch(() => undefined));
  const mark = await lstat(join(directory, 'node-id')).catch(() => undefined);
  if (found?.isDirectory() !== true || mark === undefined)
    throw new UpgradeError(`There is no data of a server in ${dataDir}`);
  return { directory, owner: { uid: found.uid, gid: found.gid } };
}

/**
 * Looks at what a server keeps, as root, with the rights of the server's own user. Needs room for a copy of the database while it
 * looks.
 * @throws {UpgradeError} where there is none; {BackupError} when the database cannot be read
 */
export async function readStoredServer(dataDir: string): Promise<StoredServer> {
  const { directory, owner } = await findServerPart(dataDir);
  const { bavail, bsize } = await statfs(directory);
  const file = await lstat(join(directory, DATABASE)).catch(() => undefined);
  const freeBytes = bavail * bsize;
  if (file?.isFile() !== true) return { directory, owner, database: undefined, freeBytes };
  if (freeBytes < file.size)
    throw new UpgradeError(
      `There is no room to look at the database: it has ${file.size} bytes, and ${freeBytes} are free`,
    );
  const part = openServerPart(directory, owner, []);
  try {
    const facts = await part.copyDatabase();
    return { directory, owner, database: { ...facts, sizeBytes: file.size }, freeBytes };
  } finally {
    await part.close();
  }
}

/** A server that cannot be upgraded, or be brought back: a sentence for the operator. */
export class UpgradeError extends Error {
  override readonly name = 'UpgradeError';
}
