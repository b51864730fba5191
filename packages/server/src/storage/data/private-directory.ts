import { chmod, lstat, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The data directory cannot be kept from other users of this machine. */
export class DataDirectoryError extends Error {
  override readonly name = 'DataDirectoryError';
}

/**
 * Makes the data directory with mode 0700, and takes the rights of others away from one that is there already: keys,
 * the database and the files of sandboxes stand in it.
 * @param onChange receives a mode that was changed.
 * @throws {DataDirectoryError} when it is no directory, or belongs to another user
 */
export async function makePrivateDirectory(
  directory: string,
  onChange: (fields: { directory: string; from: string; to: string }) => void,
): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const found = await stat(directory);
  if (!found.isDirectory())
    throw new DataDirectoryError(`the data directory ${directory} is not a directory`);
  const user = process.getuid?.();
  if (user !== undefined && found.uid !== user)
    throw new DataDirectoryError(
      `the data directory ${directory} belongs to user ${found.uid} and the server runs as user ${user}: that user could read its keys and put files in its way; give it to the server (chown -R ${user} ${directory}), or name another directory`,
    );
  const mode = found.mode & 0o7777;
  if ((mode & 0o077) === 0) return;
  await chmod(directory, 0o700);
  onChange({ directory, from: `0${mode.toString(8)}`, to: '0700' });
}

/** Stands in a data directory while a restore works on it. */
const MARK = 'restore-unfinished';

export async function markRestore(dataDir: string): Promise<void> {
  await writeFile(join(dataDir, MARK), `${new Date().toISOString()}\n`, { mode: 0o600 });
}

export async function unmarkRestore(dataDir: string): Promise<void> {
  await rm(join(dataDir, MARK), { force: true });
}

export async function isHalfRestored(dataDir: string): Promise<boolean> {
  return (await lstat(join(dataDir, MARK)).catch(() => undefined)) !== undefined;
}

/**
 * A server that started there would take missing data for deleted, and clean up the rest.
 * @throws {DataDirectoryError} while a restore works on the directory, or when one broke off
 */
export async function requireWhole(dataDir: string): Promise<void> {
  if (await isHalfRestored(dataDir))
    throw new DataDirectoryError(
      `a backup is being restored into ${dataDir}, or that broke off: let \`svc server restore FILE --data-dir ${dataDir}\` end, or run it again`,
    );
}
