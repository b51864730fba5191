import { readFileSync, statSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isSameProcess } from '#support/process-identity';
import { writeAtomically } from '#support/write-atomically';
import { serverDirectory } from './directories.js';
import { readServerFile } from './read-server-file.js';

/** What a running local server tells other commands. Holds no secret. */
export interface RunFile {
  pid: number;
  /** When the process started, as text for comparison: tells it from a later one with its pid. */
  processStart: string;
  version: string;
  startedAt: string;
  dataDir: string;
  driver: string;
  why: string;
  apiUrl: string;
  sandboxUrl: string;
  operatorUrl?: string;
  /** Whether webhooks may go to addresses of this machine and its networks. */
  privateWebhooks: boolean;
  logFile?: string;
}

const fileIn = (dataDir: string) => join(serverDirectory(dataDir), 'running.json');

/** Tells others about the server of this process. */
export async function writeRunFile(run: RunFile): Promise<void> {
  await writeJson(fileIn(run.dataDir), run);
}

/** Removes what the process with this id told, not what another server has told since. */
export async function removeRunFile(dataDir: string, pid: number): Promise<void> {
  const found = await readRunFile(dataDir);
  if (found?.run.pid === pid) await rm(fileIn(dataDir), { force: true });
}

/**
 * What stands in the data directory, and whether exactly that process still runs. Root reads it too, and ends the process and
 * removes the directory that it names: neither is taken from whoever could write the file.
 */
export async function readRunFile(dataDir: string): Promise<{ run: RunFile; alive: boolean } | undefined> {
  const file = await readServerFile(fileIn(dataDir)).catch(() => undefined);
  const run = file === undefined ? undefined : parseRunFile(file.text);
  if (file === undefined || run === undefined) return undefined;
  const alive = isSameProcess(run.pid, run.processStart) && isServerOf(run.pid, file.uid);
  return { run: { ...run, dataDir }, alive };
}

/**
 * Whether a process may be the one that a file of this user tells of: one of that user, or the one of root that stands for both
 * where there are two, which shows its name. Reads `/proc`; true on systems without it, where there is only one.
 */
function isServerOf(pid: number, uid: number): boolean {
  if (process.platform !== 'linux') return true;
  try {
    if (statSync(`/proc/${pid}`).uid === uid) return true;
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0] === 'svc-runtime';
  } catch {
    return false;
  }
}

/** Undefined when it is not what a server writes. Pure. */
function parseRunFile(text: string): RunFile | undefined {
  let run: Partial<Record<keyof RunFile, unknown>>;
  try {
    run = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof run !== 'object' || run === null) return undefined;
  const texts = ['processStart', 'version', 'startedAt', 'driver', 'why', 'apiUrl', 'sandboxUrl'] as const;
  const optional = ['operatorUrl', 'logFile'] as const;
  const sound =
    Number.isSafeInteger(run.pid) &&
    Number(run.pid) > 0 &&
    texts.every((name) => typeof run[name] === 'string') &&
    optional.every((name) => run[name] === undefined || typeof run[name] === 'string');
  return sound ? (run as RunFile) : undefined;
}

/** Writes a JSON file of this user's, all or nothing. */
export const writeJson = (file: string, value: object): Promise<void> =>
  writeAtomically(file, `${JSON.stringify(value, null, 2)}\n`);

/** Reads a JSON file; undefined when there is none, or it is no JSON. */
export async function readJson<Value>(file: string): Promise<Value | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Value;
  } catch {
    return undefined;
  }
}
