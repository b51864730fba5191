import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isSameProcess } from '#support/process-identity';
import { writeAtomically } from '#support/write-atomically';
import { serverDirectory } from './directories.js';

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
  const run = await readJson<RunFile>(fileIn(dataDir));
  if (run?.pid === pid) await rm(fileIn(dataDir), { force: true });
}

/** What stands in the data directory, and whether exactly that process still runs. */
export async function readRunFile(dataDir: string): Promise<{ run: RunFile; alive: boolean } | undefined> {
  const run = await readJson<RunFile>(fileIn(dataDir));
  if (run === undefined || typeof run.pid !== 'number') return undefined;
  return { run, alive: isSameProcess(run.pid, run.processStart) };
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
