import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { daemonProgram } from '@svc/envd';
import { createProcessDriver } from '@svc/runtime/process';
import { type Server, type ServerOptions, startServer } from '@svc/server';
import { createFaultyDriver } from './faulty-driver.js';
import type { ServerKind, SpecialServer } from './target.js';
import { createTeam } from './teams.js';

const SETTINGS: Record<ServerKind, Partial<ServerOptions>> = {
  // The first request of a team is counted, the second is too many.
  'rate-limited': {
    rateLimits: {
      general: { rate: 0.001, burst: 1 },
      create: { rate: 0.001, burst: 1 },
      redeliver: { rate: 0.001, burst: 1 },
    },
  },
  small: { maxSandboxes: 1, tuning: { bodyLimitBytes: 2_048, uploadLimitBytes: 2_048 } },
  faulty: {},
  // Long enough for a busy machine to make a sandbox when nothing is wrong.
  impatient: { tuning: { placementTimeoutMs: 8_000 } },
  'broken-storage': {},
  'broken-keys': {},
  'stalled-storage': { tuning: { requestTimeoutMs: 300 } },
  draining: {},
  'broken-volumes': {},
};

/** Tables that stay: a lost store must not end these requests, which need no table. */
const KEPT = new Set(['teams', 'api_keys']);

/** A server of its own whose settings bring about errors. Its sandboxes are plain processes: the errors are not theirs. */
export async function startSpecialServer(
  kind: ServerKind,
): Promise<SpecialServer & { close(): Promise<void> }> {
  const dataDir = await mkdtemp(path.join(tmpdir(), `svc-conformance-${kind}-`));
  const driver = createFaultyDriver(
    await createProcessDriver({ dataDir: path.join(dataDir, 'runtime'), daemon: daemonProgram }),
    { mounts: kind === 'broken-volumes' },
  );
  const server = await startServer({
    dataDir: path.join(dataDir, 'server'),
    apiPort: 0,
    sandboxPort: 0,
    operatorPort: 0,
    driver,
    logLevel: 'silent',
    rateLimits: { general: { rate: 0, burst: 1 }, create: { rate: 0, burst: 1 } },
    ...SETTINGS[kind],
  });
  if (kind === 'broken-storage') await hideTables(server, (name) => !KEPT.has(name));
  if (kind === 'broken-keys') await hideTables(server, () => true);
  const context = server.context as { db: Server['context']['db']; draining: () => boolean };
  const { db } = context;
  const stalls = new AbortController();
  if (kind === 'stalled-storage') context.db = stalled(stalls.signal) as typeof db;
  if (kind === 'draining') context.draining = () => true;
  if (kind === 'broken-volumes') await hideTables(server, (name) => name === 'volumes');
  return {
    apiUrl: server.apiUrl,
    apiKey: server.apiKey,
    sandboxUrl: server.sandboxUrl,
    team: (options) => createTeam(server, options),
    setFault: (fault) => driver.setFault(fault),
    async close() {
      driver.setFault('none');
      context.db = db;
      stalls.abort(new Error('the store is back'));
      await server.stop({ destroySandboxes: true });
      await driver.close({ destroyInstances: true });
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Takes tables away, as a store that fails would. */
async function hideTables(server: Server, hidden: (name: string) => boolean): Promise<void> {
  const { db } = server.context;
  const tables = (await db.introspection.getTables()).filter((table) => hidden(table.name));
  for (const { name } of tables) await db.schema.alterTable(name).renameTo(`lost_${name}`).execute();
}

/** A store that takes every statement and gives no answer before the signal. */
function stalled(signal: AbortSignal): unknown {
  const over = new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  over.catch(() => undefined);
  const never = () => over;
  const query: unknown = new Proxy(() => {}, {
    apply: () => query,
    get: (_, name) => {
      if (name === 'then') return undefined;
      return typeof name === 'string' && name.startsWith('execute') ? never : query;
    },
  });
  return query;
}
