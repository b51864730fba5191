import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';
import { findConfigProblem } from './check-file.js';
import type { GivenOptions, ServerOptions } from './options.js';
import type { Setting, Settings } from './setting.js';
import { settings } from './settings.js';
import { isSetting, setAt, walkSettings } from './walk.js';

export interface LoadConfigOptions {
  /** YAML or JSON file with `ServerOptions`. Default `SVC_CONFIG`; none when that is unset. */
  file?: string;
  /** Default `process.env`. */
  env?: Record<string, string | undefined>;
  /** Settings of the command line. */
  flags?: Partial<ServerOptions>;
}

const { storage: _, ...mergedLevels } = settings;

/**
 * Puts the server's options together. Precedence, highest first: flags, environment, file, defaults. Maps are put together entry by
 * entry, but for `storage`: which of its entries mean anything depends on its kind.
 * @throws {Error} naming the file or variable that cannot be read, or the option of the file that does not exist or has a wrong value.
 */
export async function loadConfig(options: LoadConfigOptions = {}): Promise<ServerOptions> {
  const env = options.env ?? process.env;
  const file = options.file ?? env.SVC_CONFIG;
  const fromFile = file === undefined ? {} : await readConfigFile(file);
  const merged: Partial<ServerOptions> = {};
  for (const source of [fromFile, optionsOfVariables(env), options.flags ?? {}]) merge(merged, source);
  return { ...merged, dataDir: path.resolve(merged.dataDir ?? defaultDataDir(env)) };
}

function optionsOfVariables(env: Record<string, string | undefined>): Partial<ServerOptions> {
  return collect(
    ({ variable }) => {
      const value = variable === undefined ? undefined : env[variable];
      return value === '' ? undefined : value;
    },
    ({ variable }) => variable,
  );
}

/**
 * Reads the flags of `svc server up` by their names: `--data-dir` is `dataDir`.
 * @throws {Error} naming the flag whose value is wrong, and not the value
 */
export function optionsOfFlags(flags: object): Partial<ServerOptions> {
  const given = flags as Record<string, unknown>;
  return collect(
    ({ flag }) => {
      const [, no, name] = /^--(no-)?(.*)$/.exec(flag ?? '') ?? [];
      const value = given[(name ?? '').replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())];
      // Without `--no-x`, `x` is true: that says nothing.
      return no !== undefined && value === true ? undefined : value;
    },
    ({ flag }) => flag,
  );
}

/** Reads every setting from one source. */
function collect(
  givenFor: (setting: Setting) => unknown,
  nameOf: (setting: Setting) => string | undefined,
): Partial<ServerOptions> {
  const found: GivenOptions = {};
  for (const [path, setting] of walkSettings(settings)) {
    const given = givenFor(setting);
    if (given === undefined) continue;
    const value = typeof given === 'string' ? setting.read(given) : given;
    const problem = setting.check(value);
    if (problem !== undefined) throw new Error(`${nameOf(setting)} ${problem}`);
    setAt(found, path, value);
  }
  if (found.storage?.url !== undefined) found.storage.kind = 'postgres';
  return found as Partial<ServerOptions>;
}

/** Maps of settings entry by entry, everything else as a whole. */
function merge(target: object, source: object, rules: Settings = mergedLevels): void {
  const into = target as Record<string, unknown>;
  for (const [name, value] of Object.entries(source)) {
    if (value === undefined) continue;
    const rule = rules[name];
    if (rule === undefined || isSetting(rule)) into[name] = value;
    else merge((into[name] ??= {}) as object, value as object, rule);
  }
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
