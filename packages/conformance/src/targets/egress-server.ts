import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startFakeInternet, WORLD } from '@svc/runtime/testing';
import { startServerProcess } from '../crash/server-process.js';
import type { Tier } from '../embedded-options.js';
import { SandboxPool } from './sandboxes.js';
import type { EgressServer } from './target.js';
import { createTeam } from './teams.js';

/** Starts a server in a network of its own, where the only internet is a fake. */
export async function startEgressServer(tier: Tier): Promise<EgressServer & { close(): Promise<void> }> {
  const closing: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const end of closing.splice(0).reverse()) await end();
  };
  try {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-conformance-internet-'));
    closing.push(() => rm(dataDir, { recursive: true, force: true }));
    const internet = await startFakeInternet();
    closing.push(() => internet.close());
    const trustedRoots = path.join(internet.directory, 'ca.pem');
    await writeFile(trustedRoots, internet.ca);
    const server = await startServerProcess(dataDir, tier, {
      settings: { egress: { dns: [WORLD.resolver], trustedRoots } },
      within: internet.inside([]),
    });
    closing.push(() => server.stop());
    const reach = async (url: string) =>
      `http://127.0.0.1:${await internet.forward(Number(new URL(url).port))}`;
    const api = { apiUrl: await reach(server.apiUrl), apiKey: server.apiKey };
    const sandboxUrl = await reach(server.sandboxUrl);
    const operatorUrl = await reach(server.operatorUrl!);
    const pool = new SandboxPool(api, sandboxUrl, 'base');
    return {
      ...api,
      sandboxUrl,
      internet,
      newSandbox: (options, from) => pool.create(options, from),
      team: (options) =>
        createTeam({ apiUrl: api.apiUrl, operatorUrl, operatorToken: server.operatorToken }, options),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
