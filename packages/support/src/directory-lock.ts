import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isSameProcess, processStart } from './process-identity.js';

/** A living process holds the directory. */
export class DirectoryLockedError extends Error {
  override readonly name = 'DirectoryLockedError';

  constructor(readonly pid: number) {
    super(`the data directory is in use by process ${pid}`);
  }
}

export interface DirectoryLock {
  /** Gives the directory free. Repeating it is fine. */
  release(): Promise<void>;
}

interface Holder {
  pid: number;
  start: string;
  token: string;
}

/**
 * Makes `directory` (mode 0700) and takes it for this process. A lock left by a process that no longer runs is taken over.
 * @param name of the file that is the lock
 * @throws {DirectoryLockedError} while a living process holds it.
 */
export async function lockDirectory(directory: string, name: string): Promise<DirectoryLock> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, name);
  const token = randomBytes(10).toString('hex');
  const mine: Holder = { pid: process.pid, start: processStart(process.pid) ?? '', token };
  const draft = `${path}.${mine.token}`;
  await writeFile(draft, JSON.stringify(mine), { mode: 0o600, flag: 'wx' });
  try {
    while (!(await tryLink(draft, path)) && !(await trySucceed(path, draft)));
  } finally {
    await rm(draft, { force: true });
  }
  return {
    async release() {
      if ((await readHolder(path))?.token === mine.token) await rm(path, { force: true });
    },
  };
}

/**
 * Takes the lock over from the dead. Of all who find the same holder dead, the one succeeds who makes the file named
 * after it; when that one dies before it is done, the next is elected by its name, and so on.
 * @throws {DirectoryLockedError} when the holder, or one who is taking over, lives.
 */
async function trySucceed(path: string, draft: string): Promise<boolean> {
  const elections: string[] = [];
  const first = await readHolder(path);
  for (let holder = first; holder !== undefined; ) {
    if (isSameProcess(holder.pid, holder.start)) throw new DirectoryLockedError(holder.pid);
    const election = `${path}.after-${holder.token}`;
    elections.push(election);
    if (!(await tryLink(draft, election))) {
      holder = await readHolder(election);
      continue;
    }
    // A process that read the lock long ago may win an election that was over: the lock then has another holder by now.
    const valid = (await readHolder(path))?.token === first?.token;
    if (valid) {
      await rename(draft, path);
    }
    for (const file of valid ? elections : [election]) await rm(file, { force: true });
    return valid;
  }
  return false;
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

/** Undefined when there is no lock. One that cannot be read belongs to nobody. */
async function readHolder(path: string): Promise<Holder | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return { pid: 0, start: 'never', token: 'unreadable' };
  }
}
