import { spawn } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { BaseRoot } from '../contract/capabilities.js';
import { DriverError } from '../contract/errors.js';
import { assetPath } from '../shared/assets.js';
import { runProgram } from '../shared/run-program.js';
import { SCRIPT_ENVIRONMENT } from '../shared/script-environment.js';

/** A root file system that was built for the template `base`. */
export interface BuiltBase {
  name: string;
  /** Absolute path of the tree. */
  tree: string;
  /** Bytes that it takes on disk. */
  sizeBytes: number;
  /** Seconds that building it took. */
  buildSeconds: number;
  /** True if it was built by the recipe of this version of the package. */
  upToDate: boolean;
}

export interface BaseOptions {
  /** Directory of the bases of this host; all its servers share them. Default `SVC_BASE_DIR`, else `/var/lib/svc/base`. */
  baseDirectory?: string | undefined;
}

/** The root file system of instances without layers. Default `SVC_BASE_ROOT`, else `debian`. */
export function chosenBaseRoot(options: { baseRoot?: BaseRoot | undefined }): BaseRoot {
  return options.baseRoot ?? (process.env.SVC_BASE_ROOT === 'host' ? 'host' : 'debian');
}

/** @throws {DriverError} `unsupported` for a path that no overlay can name. */
export function baseDirectory(options: BaseOptions): string {
  const directory = options.baseDirectory ?? process.env.SVC_BASE_DIR ?? '/var/lib/svc/base';
  if (!isAbsolute(directory) || /[:,\\\s]/.test(directory))
    throw new DriverError(
      'unsupported',
      'The directory of the bases must be an absolute path without blanks, colons, commas and backslashes (SVC_BASE_DIR).',
    );
  return directory;
}

const BUILD = 'base/build.sh';

/** Hash of the list of packages and of the programs that build a base of it. */
export async function baseRecipe(): Promise<string> {
  const { stdout } = await runProgram('sh', [assetPath(BUILD), '/', '--recipe'], { timeoutMs: 10_000 });
  return stdout.trim();
}

/** The base to start sandboxes from: of the recipe, else the newest that there is. Undefined: none was built. */
export function findBase(directory: string, recipe: string): BuiltBase | undefined {
  return readBase(directory, recipe, recipe) ?? readBase(directory, 'current', recipe);
}

function readBase(directory: string, link: string, recipe: string): BuiltBase | undefined {
  try {
    const name = readlinkSync(join(directory, link));
    const facts = JSON.parse(readFileSync(join(directory, name, 'base.json'), 'utf8'));
    const { sizeBytes, buildSeconds } = facts as { sizeBytes: number; buildSeconds: number };
    const upToDate = facts.recipe === recipe;
    return { name, tree: join(directory, name, 'root'), sizeBytes, buildSeconds, upToDate };
  } catch {
    return undefined;
  }
}

/** The environment variables that reach the build. */
const PASSED_ON = ['SVC_DEBIAN_MIRROR', 'SVC_BASE_MIRROR', 'HOME', 'http_proxy', 'https_proxy', 'no_proxy'];

/**
 * Builds the base where there is none of this package's recipe, as root, from the host's Debian mirror and the npm registry.
 * Layers on an older one keep it.
 * @param options.log receives the progress, a line each.
 * @throws {DriverError} `unsupported` when the host cannot, with the reason.
 */
export async function buildBase(
  options: BaseOptions & { log?: (line: string) => void; signal?: AbortSignal },
): Promise<BuiltBase> {
  const directory = baseDirectory(options);
  const passed = PASSED_ON.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  const child = spawn('sh', [assetPath(BUILD), directory], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...Object.fromEntries(passed),
      ...SCRIPT_ENVIRONMENT,
      PATH: `${SCRIPT_ENVIRONMENT.PATH}:${process.env.PATH ?? ''}`,
    },
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  const lines: string[] = [];
  const read = createInterface({ input: child.stderr }).on('line', (line) => {
    lines.push(line);
    options.log?.(line);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).finally(() => read.close());
  const built = findBase(directory, await baseRecipe());
  if (code === 0 && built !== undefined) return built;
  const reason = lines.at(-1)?.replace(/^base: /, '') ?? `it ended with ${code}`;
  throw new DriverError('unsupported', `The base root file system could not be built: ${reason}.`, {
    detail: lines.slice(-20).join('\n'),
  });
}
