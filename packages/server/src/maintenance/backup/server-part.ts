import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { linesWithin } from '#support/lines-within';
import { type Owner, rightsOf } from '../../storage/data/service-user.js';
import { BackupError } from './backup-error.js';

/** The objects that a copy of the database refers to. */
export interface DatabaseFacts {
  /** Steps that were applied. */
  migrations: string[];
  checkpoints: string[];
  layers: string[];
  /** Those that run or are paused. `endAt`: when its time is over, ms since 1970. */
  sandboxes: { state: string; endAt: number }[];
}

/** The files of a server, read by a process with that server's rights. */
export interface ServerPart {
  /** Copies the database as it is at this moment; the last copy counts. */
  copyDatabase(): Promise<DatabaseFacts>;
  /** The archive; `done` settles when all of it was read. */
  pack(): { tar: Readable; done: Promise<void> };
  /** Ends it in any state. */
  close(): Promise<void>;
}

/** Longest answer, bytes: room for the names of a million things. The database is what a process with fewer rights wrote. */
const LONGEST_ANSWER = 64 * 1024 * 1024;

/** @param owner user and group that the directory belongs to: the process becomes that */
export function openServerPart(directory: string, owner: Owner, names: readonly string[]): ServerPart {
  const program = [process.execPath, ...process.execArgv, programPath(), ...names];
  const child = spawn('setpriv', [...rightsOf(owner), '--', ...program], {
    cwd: directory,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    // Nothing of the operator's environment, which may hold keys.
    env: { PATH: process.env.PATH ?? '', LANG: 'C' },
  });
  let stderr = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-2_000);
  });
  child.stdin!.on('error', () => undefined);
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  closed.catch(() => undefined);
  const answers = linesWithin(child.stdio[3] as Readable, LONGEST_ANSWER);
  const fail = (cause?: unknown) =>
    new BackupError(`What the server keeps cannot be read: ${stderr.trim() || 'its reader ended'}.`, {
      cause,
    });
  return {
    async copyDatabase() {
      child.stdin!.write('database\n');
      try {
        const answer = await answers.next();
        if (answer.done !== true) return JSON.parse(answer.value) as DatabaseFacts;
      } catch (cause) {
        throw new BackupError(`What the server keeps cannot be read: ${(cause as Error).message}.`, {
          cause,
        });
      }
      await closed.catch((cause: unknown) => {
        throw fail(cause);
      });
      throw fail();
    },
    pack() {
      child.stdin!.end('pack\n');
      const done = closed.then((code) => {
        if (code !== 0) throw fail();
      });
      done.catch(() => undefined);
      return { tar: child.stdout as Readable, done };
    },
    async close() {
      child.stdin!.end();
      child.kill('SIGTERM');
      child.stdout!.resume();
      await closed.catch(() => undefined);
    },
  };
}

function programPath(): string {
  const found = ['./pack-server-part.js', './pack-server-part.ts']
    .map((name) => fileURLToPath(new URL(name, import.meta.url)))
    .find((path) => existsSync(path));
  if (found === undefined) throw new Error('the program that reads what the server keeps is missing');
  return found;
}

/** The server's own files beside its database. Others there belong to one run, or to another program. */
export const KEPT_FILES = ['server.key', 'node-id', 'operator-token', 'credentials.json', 'builds'] as const;

export const DATABASE = 'server.db';

/** All files of a server that a backup may contain. */
export const SERVER_PART: readonly string[] = [DATABASE, ...KEPT_FILES];
