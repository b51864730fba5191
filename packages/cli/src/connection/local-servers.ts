import { createHash } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { configDirectory, defaultDataDirectory } from './directories.js';
import { readJson, writeJson } from './json-file.js';
import { type RunFile, readRunFile } from './run-file.js';

type Environment = Record<string, string | undefined>;

const pointers = (env: Environment) => join(configDirectory(env), 'servers');
const pointerFile = (env: Environment, dataDir: string) =>
  join(pointers(env), `${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}.json`);

/** Lets this user's commands find the data directory of a server that starts. */
export async function rememberServer(env: Environment, dataDir: string): Promise<void> {
  // Only a convenience: a read-only home is no reason not to serve.
  await mkdir(pointers(env), { recursive: true, mode: 0o700 })
    .then(() => writeJson(pointerFile(env, dataDir), { dataDir }))
    .catch(() => undefined);
}

/** Forgets a server that stopped. Its data directory stays what it is. */
export async function forgetServer(env: Environment, dataDir: string): Promise<void> {
  await rm(pointerFile(env, dataDir), { force: true }).catch(() => undefined);
}

/** Servers of this machine whose data directories this user's commands know, the last started first. */
async function knownServers(env: Environment): Promise<{ run: RunFile; alive: boolean }[]> {
  const names = await readdir(pointers(env)).catch(() => []);
  const remembered = await Promise.all(
    names.map(async (name) => (await readJson<{ dataDir?: unknown }>(join(pointers(env), name)))?.dataDir),
  );
  const directories = new Set([
    ...remembered.filter((dataDir): dataDir is string => typeof dataDir === 'string'),
    defaultDataDirectory(env, process.getuid?.() === 0),
  ]);
  const found = await Promise.all([...directories].map((dataDir) => readRunFile(dataDir)));
  return found
    .filter((each) => each !== undefined)
    .sort((a, b) => (a.run.startedAt < b.run.startedAt ? 1 : -1));
}

/** Servers that run on this machine, as far as this user's commands know, the last started first. */
export async function runningServers(env: Environment): Promise<RunFile[]> {
  return (await knownServers(env)).filter(({ alive }) => alive).map(({ run }) => run);
}

/** Where a local server keeps its data, and how that was found. */
export interface FoundDirectory {
  dataDir: string;
  /** Running servers that were passed over, because another was started later. */
  others: RunFile[];
}

/**
 * Data directory of the local server: as chosen, else that of the running server started last, else that of the one that
 * ended without stopping, else the default.
 */
export async function findDataDirectory(env: Environment, option?: string): Promise<FoundDirectory> {
  const chosen = option ?? (env.SVC_DATA_DIR || undefined);
  if (chosen !== undefined) return { dataDir: resolve(chosen), others: [] };
  const known = await knownServers(env);
  const [last, ...others] = known.filter(({ alive }) => alive);
  const dataDir = (last ?? known[0])?.run.dataDir ?? defaultDataDirectory(env, process.getuid?.() === 0);
  return { dataDir, others: others.map(({ run }) => run) };
}
