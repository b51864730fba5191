import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { configFile, readConfig } from './config-file.js';
import { type Addresses, type Connection, resolveConnection } from './resolve-connection.js';
import { findDataDirectory, readRunFile } from './run-file.js';

/** What was found of a local server. */
export interface LocalServer extends Addresses {
  dataDir: string;
  running: boolean;
  apiKey?: string;
  /** The key exists, but this user may not read it. */
  keyForbidden: boolean;
  privateWebhooks: boolean;
}

export function credentialsFile(dataDir: string): string {
  return join(dataDir, 'credentials.json');
}

/** Looks for a local server: its key, and its addresses while it runs. */
export async function findLocalServer(
  env: Record<string, string | undefined>,
  option?: string,
): Promise<LocalServer> {
  const dataDir = await findDataDirectory(env, option);
  const found = await readRunFile(dataDir);
  const running = found?.alive === true;
  let keyForbidden = false;
  const text = await readFile(credentialsFile(dataDir), 'utf8').catch((error: NodeJS.ErrnoException) => {
    keyForbidden = error.code === 'EACCES' || error.code === 'EPERM';
    return undefined;
  });
  return {
    dataDir,
    running,
    keyForbidden,
    privateWebhooks: found?.run.privateWebhooks ?? false,
    ...(running ? { apiUrl: found.run.apiUrl, sandboxUrl: found.run.sandboxUrl } : {}),
    ...readKey(text),
  };
}

/** Finds the service that this command shall talk to. */
export async function findConnection(
  env: Record<string, string | undefined>,
  options: Addresses,
): Promise<{ connection: Connection; local: LocalServer; configPath: string }> {
  const configPath = configFile(env);
  const [config, local] = await Promise.all([readConfig(configPath), findLocalServer(env)]);
  return { connection: resolveConnection({ options, env, config, local }), local, configPath };
}

function readKey(text: string | undefined): { apiKey?: string } {
  try {
    const { apiKey } = JSON.parse(text ?? '{}') as { apiKey?: unknown };
    return typeof apiKey === 'string' && apiKey !== '' ? { apiKey } : {};
  } catch {
    return {};
  }
}
