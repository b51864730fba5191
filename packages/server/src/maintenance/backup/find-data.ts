import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { dataLayout } from '../../storage/data/data-layout.js';
import { BackupError } from './backup-error.js';
import { DATABASE } from './server-files.js';

/** Where in a data directory a server with the `linux` driver keeps what. */
export interface FoundData {
  /** Part of the server, and the user that it runs as. */
  server: string;
  owner: { uid: number; gid: number };
  /** Part of the driver. */
  driver: string;
  /** Whether the server uses SQLite, of which there is a file. */
  hasDatabase: boolean;
}

/** @throws {BackupError} where there is no such data */
export async function findData(dataDir: string): Promise<FoundData> {
  const layout = dataLayout(dataDir);
  const separate = await lstat(layout.server).catch(() => undefined);
  const server = separate === undefined ? dataDir : layout.server;
  const found = separate ?? (await lstat(dataDir).catch(() => undefined));
  const key = await lstat(join(server, 'node-id')).catch(() => undefined);
  if (found?.isDirectory() !== true || key === undefined)
    throw new BackupError(`There is no data of a server in ${dataDir}.`, {
      hint: 'Name its data directory with --data-dir.',
    });
  if ((await lstat(join(layout.runtime, 'store')).catch(() => undefined)) === undefined)
    throw new BackupError(`The sandboxes in ${dataDir} are not of the linux driver.`, {
      hint: 'With the driver "process" there is no memory to keep: stop the server and copy the directory.',
    });
  const database = await lstat(join(server, DATABASE)).catch(() => undefined);
  return {
    server,
    owner: { uid: found.uid, gid: found.gid },
    driver: layout.runtime,
    hasDatabase: database?.isFile() === true,
  };
}
