import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Server, type ServerOptions, startServer } from '@svc/server';
import type { Capability } from '../capability.js';
import { embeddedOptions, type Tier } from '../embedded-options.js';
import { closeConnections, send } from '../wire/send.js';
import { startEgressServer } from './egress-server.js';
import { SandboxPool } from './sandboxes.js';
import { startSpecialServer } from './special-server.js';
import type { EgressServer, ServerKind, SpecialServer, Target } from './target.js';
import { createTeam } from './teams.js';

/** A server in this process, on a data directory of its own. @param more settings, beside those of every server under test */
export async function startEmbedded(tier: Tier, more: Partial<ServerOptions> = {}): Promise<Target> {
  const dataDir = await mkdtemp(path.join(tmpdir(), `svc-conformance-${tier}-`));
  const server = await startServer({ ...embeddedOptions(dataDir, tier), ...more });
  const pool = new SandboxPool(server, server.sandboxUrl, 'base');
  const special = new Map<ServerKind, Promise<SpecialServer & { close(): Promise<void> }>>();
  let egress: Promise<EgressServer & { close(): Promise<void> }> | undefined;
  return {
    name: tier,
    apiUrl: server.apiUrl,
    apiKey: server.apiKey,
    sandboxUrl: server.sandboxUrl,
    domain: server.domain,
    template: 'base',
    capabilities: await capabilitiesOf(server),
    sandbox: () => pool.shared(),
    newSandbox: (options, api) => pool.create(options, api),
    team: (options) => createTeam(server, options),
    server(kind) {
      let started = special.get(kind);
      if (started === undefined) {
        started = startSpecialServer(kind);
        special.set(kind, started);
      }
      return started;
    },
    egressServer() {
      egress ??= startEgressServer(tier);
      return egress;
    },
    async close() {
      // One that did not start has failed its cases already.
      await (await egress?.catch(() => undefined))?.close();
      for (const started of special.values()) await (await started).close();
      await server.stop({ destroySandboxes: true });
      closeConnections();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function capabilitiesOf(server: Server): Promise<Set<Capability>> {
  const found = new Set<Capability>(['teams', 'servers', 'receiver']);
  const { capabilities } = server.driver;
  if (capabilities.memorySnapshot) found.add('memory');
  if (capabilities.isolation !== 'none') found.add('isolation');
  if (capabilities.users) found.add('users');
  if (capabilities.egressPolicy) found.add('egress').add('internet');
  if (capabilities.mounts) found.add('mounts');
  if (await hasTemplates(server)) found.add('templates');
  return found;
}

/** Returns true when the template operations are routed. */
export async function hasTemplates(api: { apiUrl: string; apiKey: string }): Promise<boolean> {
  const answer = await send(`${api.apiUrl}/v2/templates`, { headers: { 'X-API-Key': api.apiKey } });
  return answer.status === 200;
}
