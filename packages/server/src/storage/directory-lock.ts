import { link, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** The data directory is owned by another living server. */
export class DirectoryLockedError extends Error {
  override readonly name = 'DirectoryLockedError';
}

/**
 * Takes the data directory for this process. A lock whose process died is taken over.
 * @returns a function that gives it free.
 * @throws {DirectoryLockedError} while another process lives that holds it.
 */
export async function lockDirectory(dataDir: string): Promise<() => Promise<void>> {
  const file = path.join(dataDir, 'server.lock');
  const mine = `${process.pid} ${await processStart(process.pid)}\n`;
  for (let round = 0; round < 5; round += 1) {
    try {
      // Written first and linked then, so that nobody ever reads half a lock.
      const draft = `${file}.${process.pid}.${round}`;
      await writeFile(draft, mine, { mode: 0o600 });
      await link(draft, file).finally(() => rm(draft, { force: true }));
      return async () => {
        if ((await readFile(file, 'utf8').catch(() => '')) === mine) await rm(file, { force: true });
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const [pidText = '', start = ''] = (await readFile(file, 'utf8').catch(() => '')).trim().split(' ');
    const pid = Number(pidText);
    if (pid > 0 && start !== '' && (await processStart(pid)) === start)
      throw new DirectoryLockedError(`the data directory is in use by process ${pid}`);
    await rm(file, { force: true });
  }
  throw new DirectoryLockedError('the data directory is in use');
}

/** Start time of a process in kernel ticks, so that a reused pid is not taken for the old owner; '' when it is gone. */
async function processStart(pid: number): Promise<string> {
  if (process.platform !== 'linux') return isAlive(pid) ? 'alive' : '';
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const afterName = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return afterName[0] === 'Z' ? '' : (afterName[19] ?? '');
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
