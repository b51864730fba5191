import type { Stats } from 'node:fs';
import { join } from 'node:path';
import { isSameProcess } from '#support/process-identity';
import { readJson } from './json-file.js';

/** A process that holds the data directory. */
export interface Holder {
  pid: number;
  start: string;
}

/**
 * The process that has the data directory, by a lock that only its own user can write: of a server of two processes root's. The
 * server itself is not asked, since it reads what strangers send and could name any process.
 */
export async function findHolder(dataDir: string, isSeparate: boolean): Promise<Holder | undefined> {
  const file = isSeparate ? join(dataDir, 'driver', 'driver.lock') : join(dataDir, 'server.lock');
  const holder = await readJson<Partial<Holder>>(file);
  const { pid, start } = holder ?? {};
  if (typeof pid !== 'number' || typeof start !== 'string' || !isSameProcess(pid, start)) return undefined;
  return { pid, start };
}

/** Returns true for a directory into which nobody but root can have put anything. Pure. */
export function isRootsAlone({ uid, mode }: Pick<Stats, 'uid' | 'mode'>): boolean {
  return uid === 0 && (mode & 0o022) === 0;
}
