import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { baseRoots, driverNames, type IdPool, type Isolation, isolations } from '@svc/runtime';
import { parse } from 'yaml';
import type { RateLimit } from '../limits/rate-limit.js';
import { findConfigProblem } from './check-file.js';
import type { ServerOptions } from './options.js';

export interface LoadConfigOptions {
  /** YAML or JSON file with `ServerOptions`. Default `SVC_CONFIG`; none when that is unset. */
  file?: string;
  /** Default `process.env`. */
  env?: Record<string, string | undefined>;
  /** What was given on the command line. */
  flags?: Partial<ServerOptions>;
}

/** Settings of the environment: variable, option (`table.entry` for one entry of a table), how its text is read. */
const VARIABLES: [string, string, (text: string, name: string) => unknown][] = [
  ['SVC_DATA_DIR', 'dataDir', text],
  ['SVC_HOST', 'host', text],
  ['SVC_API_PORT', 'apiPort', number],
  ['SVC_SANDBOX_PORT', 'sandboxPort', number],
  ['SVC_OPERATOR_PORT', 'operatorPort', (value, name) => (value === 'off' ? false : number(value, name))],
  ['SVC_PUBLIC_API_URL', 'publicApiUrl', text],
  ['SVC_ISSUER', 'issuer', text],
  ['SVC_PUBLIC_SANDBOX_URL', 'publicSandboxUrl', text],
  ['SVC_SERVER_DOMAIN', 'domain', text],
  ['SVC_HEADER_PREFIXES', 'headerPrefixes', (value) => value.split(',').filter((part) => part !== '')],
  ['SVC_DRIVER', 'driver', oneOf(...driverNames)],
  ['SVC_OCI_RUNTIME', 'ociRuntime', text],
  ['SVC_BASE_ROOT', 'baseRoot', oneOf(...baseRoots)],
  ['SVC_ISOLATION', 'isolation', oneOf(...isolations)],
  ['SVC_TEMPLATE_ISOLATION', 'templateIsolation', parseTemplateIsolation],
  ['SVC_TRIAL_START', 'trialStart', (value) => oneOf('on', 'off')(value, 'SVC_TRIAL_START') === 'on'],
  ['SVC_USER', 'user', text],
  ['SVC_RUNTIME_SOCKET', 'runtimeSocket', text],
  ['SVC_POSTGRES_URL', 'storage', (url) => ({ kind: 'postgres', url })],
  ['SVC_NODE_ID', 'nodeId', text],
  ['SVC_NODE_API_URL', 'nodeApiUrl', text],
  ['SVC_NODE_SANDBOX_URL', 'nodeSandboxUrl', text],
  ['SVC_SERVER_KEY', 'serverKey', text],
  ['SVC_OPERATOR_TOKEN', 'operatorToken', text],
  ['SVC_MAX_SANDBOXES', 'maxSandboxes', number],
  ['SVC_TEAM_MAX_SANDBOXES', 'teamLimits.maxConcurrentSandboxes', number],
  ['SVC_RATE_LIMIT', 'rateLimits.general', parseRateLimit],
  ['SVC_CREATE_RATE_LIMIT', 'rateLimits.create', parseRateLimit],
  ['SVC_MAX_MEMORY_MIB', 'maxMemoryMiB', number],
  ['SVC_DISK_RESERVE_MIB', 'diskReserveMiB', number],
  ['SVC_POOL_SIZE', 'poolSize', number],
  ['SVC_USER_IDS', 'userIds', parseUserIds],
  ['SVC_LOG_LEVEL', 'logLevel', oneOf('silent', 'error', 'warn', 'info', 'debug', 'trace')],
];

/** Options whose entries stand for themselves. */
const MERGED_TABLES = ['teamLimits', 'rateLimits'] as const;

/** The environment's settings, for help texts and manuals. */
export const environmentVariables: readonly { variable: string; option: string }[] = VARIABLES.map(
  ([variable, option]) => ({ variable, option }),
);

/**
 * Puts the server's options together. Precedence, highest first: flags, environment, file, defaults.
 * `teamLimits` and `rateLimits` are put together entry by entry; other objects (`base`, `tuning`, `storage`) are replaced whole.
 * @throws {Error} naming the file or variable that cannot be read, or the option of the file that does not exist or has a wrong value.
 */
export async function loadConfig(options: LoadConfigOptions = {}): Promise<ServerOptions> {
  const env = options.env ?? process.env;
  const file = options.file ?? env.SVC_CONFIG;
  const fromFile = file === undefined ? {} : await readConfigFile(file);
  const fromEnv: Record<string, unknown> = {};
  for (const [name, key, read] of VARIABLES) {
    const value = env[name];
    if (value === undefined || value === '') continue;
    const [table, entry] = key.split('.') as [string, string?];
    fromEnv[table] =
      entry === undefined ? read(value, name) : { ...(fromEnv[table] as object), [entry]: read(value, name) };
  }
  const flags = Object.fromEntries(
    Object.entries(options.flags ?? {}).filter(([, value]) => value !== undefined),
  );
  const sources = [fromFile, fromEnv, flags] as Partial<ServerOptions>[];
  const merged: Partial<ServerOptions> = Object.assign({}, ...sources);
  for (const table of MERGED_TABLES)
    if (sources.some((source) => source[table] !== undefined))
      merged[table] = Object.assign({}, ...sources.map((source) => source[table]));
  return { ...merged, dataDir: path.resolve(merged.dataDir ?? defaultDataDir(env)) };
}

/** `/var/lib/svc` for root, else `svc` in the user's state directory. */
function defaultDataDir(env: Record<string, string | undefined>): string {
  if (process.getuid?.() === 0) return '/var/lib/svc';
  return path.join(env.XDG_STATE_HOME ?? path.join(env.HOME ?? '.', '.local/state'), 'svc');
}

async function readConfigFile(file: string): Promise<Record<string, unknown>> {
  const settings = await parseConfigFile(file);
  // A misspelt option must not silently leave its default in force.
  const problem = findConfigProblem(settings);
  if (problem !== undefined) throw new Error(`in the configuration file ${file}, ${problem}`);
  return settings;
}

async function parseConfigFile(file: string): Promise<Record<string, unknown>> {
  try {
    const parsed: unknown = parse(await readFile(file, 'utf8'));
    if (parsed === null || parsed === undefined) return {};
    if (typeof parsed !== 'object' || Array.isArray(parsed)) throw new Error('it must be a map of options');
    return parsed as Record<string, unknown>;
  } catch (error) {
    throw new Error(`cannot read the configuration file ${file}: ${oneLine(error as Error)}`, {
      cause: error,
    });
  }
}

/** The YAML reader quotes the lines in question: they may hold secrets. */
function oneLine(error: Error): string {
  return (error.message.split('\n')[0] ?? '').replace(/:$/, '');
}

function text(value: string): string {
  return value;
}

function number(value: string, name: string): number {
  if (!/^\d+$/.test(value)) throw new Error(`${name} must be a whole number`);
  return Number(value);
}

/** Reads `base=gvisor,<id>=container`. @throws {Error} naming the variable */
function parseTemplateIsolation(value: string, name: string): Record<string, Isolation> {
  const entries = value.split(',').filter((each) => each.trim() !== '');
  return Object.fromEntries(
    entries.map((each) => {
      const [, template, isolation] = /^\s*([^=\s]+)\s*=\s*(\S+)\s*$/.exec(each) ?? [];
      const known = isolations.find((one) => one === isolation);
      if (template === undefined || known === undefined)
        throw new Error(`${name} must be <template>=${isolations.join('|')}, with commas: base=gvisor`);
      return [template, known];
    }),
  );
}

/** Reads `FIRST:COUNT`. @throws {Error} naming the variable */
function parseUserIds(value: string, name: string): IdPool {
  const [, first, count] = /^(\d+):(\d+)$/.exec(value) ?? [];
  if (first === undefined)
    throw new Error(`${name} must be the first id and how many, as 600000000:67108864`);
  return { first: Number(first), count: Number(count) };
}

/**
 * Reads a rate limit: `RATE` or `RATE:BURST`, requests per second and at once, or `off`. Without a burst: five seconds' worth.
 * @throws {Error} that says what is expected and not what was given
 */
export function parseRateLimit(value: string, name: string): RateLimit {
  if (value === 'off') return { rate: 0, burst: 1 };
  const [, rate, burst] = /^(\d+(?:\.\d+)?)(?::([1-9]\d*))?$/.exec(value) ?? [];
  if (rate === undefined || Number(rate) === 0)
    throw new Error(`${name} must be requests per second, as 100 or with a burst 100:500, or off`);
  return {
    rate: Number(rate),
    burst: burst === undefined ? Math.max(1, Math.ceil(Number(rate) * 5)) : Number(burst),
  };
}

function oneOf(...allowed: string[]) {
  return (value: string, name: string): string => {
    if (!allowed.includes(value)) throw new Error(`${name} must be one of ${allowed.join(', ')}`);
    return value;
  };
}
