import { mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CliError } from '../errors/cli-error.js';
import { configDirectory } from './directories.js';
import { writeJson } from './json-file.js';

/** Settings that `svc auth login` keeps. */
export interface StoredConfig {
  apiKey?: string;
  apiUrl?: string;
  sandboxUrl?: string;
  domain?: string;
}

export function configFile(env: Record<string, string | undefined>): string {
  return join(configDirectory(env), 'config.json');
}

/** Reads the settings; nothing when there is no file. @throws {CliError} for a file that is not JSON */
export async function readConfig(file: string): Promise<StoredConfig> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw new CliError(`The settings in ${file} cannot be read: ${error.code ?? error.message}.`);
  });
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as StoredConfig;
  } catch {
    // Said below.
  }
  throw new CliError(`The settings in ${file} are not a JSON object.`, {
    hint: '`svc auth login` writes them again; `svc auth logout` removes them.',
  });
}

/** Writes the settings so that only their owner reads them, all or nothing. */
export async function writeConfig(file: string, config: StoredConfig): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeJson(file, config);
}

/** Removes the settings. False when there were none. */
export async function removeConfig(file: string): Promise<boolean> {
  return rm(file).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}
