import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DriverError } from '../contract/errors.js';
import { randomId } from './instance-id.js';
import { isSameProcess, processStart } from './process-identity.js';

export interface DataDirLock {
  /** Repeating it is fine. */
  release(): Promise<void>;
}

interface Holder {
  pid: number;
  start: string;
  token: string;
}

/**
 * Makes `dataDir` (mode 0700) and takes it for this process. A lock left by a process that no longer runs is taken over.
 * @throws {DriverError} `busy` while a living process holds it.
 */
export async function lockDataDir(dataDir: string, name = 'driver.lock'): Promise<DataDirLock> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const path = join(dataDir, name);
  const mine: Holder = { pid: process.pid, start: processStart(process.pid) ?? '', token: randomId() };
  const draft = `${path}.${mine.token}`;
  await writeFile(draft, JSON.stringify(mine), { mode: 0o600, flag: 'wx' });
  try {
    while (!(await tryLink(draft, path))) {
      const holder = await readHolder(path);
      if (holder === undefined) continue;
      if (holder !== 'unreadable' && isSameProcess(holder.pid, holder.start)) {
        throw new DriverError('busy', `The data directory is in use by process ${holder.pid}.`);
      }
      await setAside(path, holder === 'unreadable' ? undefined : holder.token, mine.token);
    }
  } finally {
    await rm(draft, { force: true });
  }
  return {
    async release() {
      const holder = await readHolder(path);
      if (typeof holder === 'object' && holder.token === mine.token) await rm(path, { force: true });
    },
  };
}

async function tryLink(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function readHolder(path: string): Promise<Holder | 'unreadable' | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Holder;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : 'unreadable';
  }
}

/** Moves a stale lock away. When another process was faster and the moved file is its fresh lock, puts it back. */
async function setAside(path: string, staleToken: string | undefined, suffix: string): Promise<void> {
  const aside = `${path}.${suffix}.stale`;
  try {
    await rename(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const moved = await readHolder(aside);
  if (typeof moved === 'object' && moved.token !== staleToken) await tryLink(aside, path);
  await rm(aside, { force: true });
}
