import { lstat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { dataLayout } from '../../storage/data/data-layout.js';
import type { Owner } from '../../storage/data/rights-of.js';
import { DATABASE } from '../backup/server-files.js';
import { type DatabaseFacts, openServerPart } from '../backup/server-part.js';
import { UpgradeError } from './upgrade-error.js';

/** What a server, running or not, keeps in its data directory. */
export interface StoredServer {
  /** Directory of its files, and who owns that. */
  directory: string;
  owner: Owner;
  /** Undefined for a server that uses PostgreSQL, or that has not started yet. */
  database: (DatabaseFacts & { sizeBytes: number }) | undefined;
  /** Free in the file system of the directory, for the owner. */
  freeBytes: number;
}

/** Where a server keeps its files. @throws {UpgradeError} where there is none */
export async function findServerPart(dataDir: string): Promise<Pick<StoredServer, 'directory' | 'owner'>> {
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
