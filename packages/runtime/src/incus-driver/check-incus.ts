import { DriverError } from '../contract/errors.js';
import { baseDirectory, baseRecipe, findBase } from '../host/base-root.js';
import type { Finding } from '../host/finding.js';
import { IncusClient } from '../incus/incus-client.js';
import { IncusError } from '../incus/incus-error.js';
import { readCredentials } from './credentials.js';
import { IncusCluster } from './incus-cluster.js';
import { type IncusFacts, judgeIncus } from './judge-incus.js';
import { projectKeys } from './keys.js';
import { DEFAULT_ADDRESS, DEFAULT_PROJECT, type IncusDriverOptions, NEEDED_EXTENSIONS } from './options.js';
import { readServer } from './read-wire.js';

const ANSWER_MS = 15_000;

/** Looks whether the `incus` driver could run with these options. Changes nothing. */
export async function checkIncus(options: Partial<IncusDriverOptions> = {}): Promise<Finding[]> {
  return judgeIncus(await readIncusFacts(options));
}

async function readIncusFacts(options: Partial<IncusDriverOptions>): Promise<IncusFacts> {
  const address = options.address ?? DEFAULT_ADDRESS;
  const base = findBase(baseDirectory(options), await baseRecipe())?.name;
  let client: IncusClient | undefined;
  try {
    const project = options.project ?? DEFAULT_PROJECT;
    client = new IncusClient({ address, project, credentials: await readCredentials(options) });
    const server = readServer(await client.call({ path: '', timeoutMs: ANSWER_MS }));
    const trusted = server.auth === 'trusted';
    if (!trusted) return { address, trusted, base };
    const config =
      (
        await client.find<{ config: Record<string, string> }>({
          path: `/projects/${encodeURIComponent(project)}`,
        })
      )?.config ?? {};
    return {
      address,
      trusted,
      base,
      version: server.environment.server_version,
      missingExtensions: NEEDED_EXTENSIONS.filter((name) => !server.api_extensions.includes(name)),
      members: await new IncusCluster(client).members(),
      pools: await client.call<{ name: string; driver: string }[]>({
        path: '/storage-pools',
        query: { recursion: '1' },
      }),
      pool: options.pool ?? config[projectKeys.pool],
      parent: options.parent ?? config[projectKeys.parent],
      range: options.range ?? config[projectKeys.range],
      fenced: options.fence ?? config[projectKeys.fence] === 'true',
    };
  } catch (error) {
    if (IncusError.is(error) || DriverError.is(error)) return { address, base, problem: error.message };
    throw error;
  } finally {
    client?.close();
  }
}
