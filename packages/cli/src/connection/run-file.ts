import { lstat, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isSameProcess } from '#support/process-identity';
import { serverDirectory } from './directories.js';
import { writeJson } from './json-file.js';
import { findHolder, isRootsAlone } from './lock-holder.js';
import { readServerFile } from './read-server-file.js';

/** The record of a running local server for other commands. It has no secret. */
export interface RunFile {
  pid: number;
  /** When the process started, as text for comparison: distinguishes it from a later one with its pid. */
  processStart: string;
  version: string;
  startedAt: string;
  dataDir: string;
  driver: string;
  why: string;
  apiUrl: string;
  sandboxUrl: string;
  operatorUrl?: string;
  /** True when webhooks may go to addresses of this machine and its networks. */
  privateWebhooks: boolean;
  logFile?: string;
}

const fileIn = (dataDir: string) => join(serverDirectory(dataDir), 'running.json');

/** Records for others the server of this process. */
export async function writeRunFile(run: RunFile): Promise<void> {
  await writeJson(fileIn(run.dataDir), run);
}

/** Removes the record of the process with this id, not that of a later server. */
export async function removeRunFile(dataDir: string, pid: number): Promise<void> {
  const found = await readRunFile(dataDir);
  if (found?.run.pid === pid) await rm(fileIn(dataDir), { force: true });
}

/**
 * Reads the record in the data directory, and if exactly that process still runs. Root reads it too, and ends the process and
 * removes the directory that it names: neither is taken from just anyone who could write the file.
 */
export async function readRunFile(dataDir: string): Promise<{ run: RunFile; alive: boolean } | undefined> {
  const file = await readServerFile(fileIn(dataDir)).catch(() => undefined);
  const run = file === undefined ? undefined : parseRunFile(file.text);
  if (file === undefined || run === undefined) return undefined;
  const alive = isSameProcess(run.pid, run.processStart) && (await isServerOf(run.pid, file.uid, dataDir));
  return { run: { ...run, dataDir }, alive };
}

/**
 * Returns true for a process that may be the one in a file of this user: one of that user, or the one of root that stands for both where
 * there are two, which has root's own lock. Reads `/proc`; true on systems without it, where there is only one.
 */
async function isServerOf(pid: number, uid: number, dataDir: string): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  try {
    if ((await stat(`/proc/${pid}`)).uid === uid) return true;
    return isRootsAlone(await lstat(dataDir)) && (await findHolder(dataDir, true))?.pid === pid;
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
