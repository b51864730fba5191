import { join } from 'node:path';
import { configFile, readConfig } from './config-file.js';
import { serverDirectory } from './directories.js';
import { findDataDirectory } from './local-servers.js';
import { readServerFile } from './read-server-file.js';
import { type Addresses, type Connection, resolveConnection } from './resolve-connection.js';
import { type RunFile, readRunFile } from './run-file.js';

/** The addresses and the key of a local server. */
export interface LocalServer extends Addresses {
  dataDir: string;
  running: boolean;
  apiKey?: string;
  /** The key exists, but this user may not read it. */
  keyForbidden: boolean;
  privateWebhooks: boolean;
  /** Other servers that run on this machine. */
  others: RunFile[];
}

export function credentialsFile(dataDir: string): string {
  return join(serverDirectory(dataDir), 'credentials.json');
}

/** Looks for a local server: its key, and its addresses while it runs. */
export async function findLocalServer(
  env: Record<string, string | undefined>,
  option?: string,
): Promise<LocalServer> {
  const { dataDir, others } = await findDataDirectory(env, option);
  const found = await readRunFile(dataDir);
  const running = found?.alive === true;
  let keyForbidden = false;
  const credentials = await readServerFile(credentialsFile(dataDir)).catch((error: NodeJS.ErrnoException) => {
    keyForbidden = error.code === 'EACCES' || error.code === 'EPERM';
    return undefined;
  });
  return {
    dataDir,
    running,
    keyForbidden,
    others,
    privateWebhooks: found?.run.privateWebhooks ?? false,
    ...(running ? { apiUrl: found.run.apiUrl, sandboxUrl: found.run.sandboxUrl } : {}),
    ...readKey(credentials?.text),
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

/**
 * Says which service is meant, when nobody named it and others might have been: a server found by itself beside other
 * servers, or kept settings while a server runs here. Undefined when there is no doubt. Pure.
 */
export function describeChoice(connection: Connection, local: LocalServer): string | undefined {
  const { apiUrl, domain, addressFrom } = connection;
  const elsewhere = local.others.map((run) => `${run.apiUrl} (${run.dataDir})`);
  if (addressFrom === 'local server' && elsewhere.length > 0)
    return `Using ${apiUrl} (${local.dataDir}), the server started last; also here: ${elsewhere.join(', ')}. SVC_DATA_DIR or --api-url chooses.`;
  if (addressFrom === 'settings' && local.running && local.apiUrl !== apiUrl)
    return `Using ${apiUrl ?? domain} as \`svc auth login\` kept it, not the server of this machine (${local.apiUrl}). --api-url chooses.`;
  return undefined;
}

/** Names a service that nobody named, for commands that destroy. Pure. */
export function describeTarget(connection: Connection, local: LocalServer): string | undefined {
  const { apiUrl, domain, addressFrom } = connection;
  if (addressFrom === 'local server') return `On ${apiUrl} (server of this machine, ${local.dataDir}):`;
  return addressFrom === 'settings' ? `On ${apiUrl ?? domain} (as \`svc auth login\` kept it):` : undefined;
}
