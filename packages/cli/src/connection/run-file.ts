import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { configDirectory, defaultDataDirectory } from './directories.js';
import { processStart } from './process-identity.js';

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

type Environment = Record<string, string | undefined>;

const fileIn = (dataDir: string) => join(dataDir, 'running.json');
const pointerIn = (env: Environment) => join(configDirectory(env), 'last-server.json');

/** Tells others about the server of this process, and this user's commands where its data is. */
export async function writeRunFile(env: Environment, run: RunFile): Promise<void> {
  await writeWhole(fileIn(run.dataDir), run);
  // Only a convenience: a read-only home is no reason not to serve.
  await mkdir(configDirectory(env), { recursive: true, mode: 0o700 })
    .then(() => writeWhole(pointerIn(env), { dataDir: run.dataDir }))
    .catch(() => undefined);
}

/** Takes the word back, unless another server has spoken since. */
export async function removeRunFile(dataDir: string, pid: number): Promise<void> {
  const run = await readJson<RunFile>(fileIn(dataDir));
  if (run?.pid === pid) await rm(fileIn(dataDir), { force: true });
}

/** What stands in the data directory, and whether exactly that process still runs. */
export async function readRunFile(dataDir: string): Promise<{ run: RunFile; alive: boolean } | undefined> {
  const run = await readJson<RunFile>(fileIn(dataDir));
  if (run === undefined || typeof run.pid !== 'number') return undefined;
  return { run, alive: (await processStart(run.pid)) === run.processStart };
}

/** Data directory of the local server: as chosen, else that of the server this user started last, else the default. */
export async function findDataDirectory(env: Environment, option?: string): Promise<string> {
  const chosen = option ?? (env.SVC_DATA_DIR || undefined);
  if (chosen !== undefined) return resolve(chosen);
  const last = await readJson<{ dataDir?: string }>(pointerIn(env));
  return last?.dataDir ?? defaultDataDirectory(env, process.getuid?.() === 0);
}

async function writeWhole(file: string, value: object): Promise<void> {
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  await rename(draft, file);
}

async function readJson<Value>(file: string): Promise<Value | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Value;
  } catch {
    return undefined;
  }
}
