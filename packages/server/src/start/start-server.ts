import { setMaxListeners } from 'node:events';
import { envdVersion } from '@svc/envd';
import { lockDirectory } from '#support/directory-lock';
import { createApi } from '../api/app.js';
import { handlers } from '../api/handlers/index.js';
import { notYet } from '../api/not-yet.js';
import { TeamStore } from '../auth/team-store.js';
import { emptyBuildTrash, recoverBuilds } from '../builds/recover.js';
import type { ServerOptions } from '../config/options.js';
import { resolveConfig } from '../config/resolve.js';
import type { ServerContext } from '../context/context.js';
import { createEventSink } from '../events/sink.js';
import type { Gateway } from '../gateway/index.js';
import { randomIds } from '../ids/ids.js';
import { checkServerKey } from '../keys/check-key.js';
import { loadServerKey } from '../keys/key-file.js';
import { createKeyRing } from '../keys/key-ring.js';
import { ConnectionGuard } from '../limits/connections.js';
import { RateLimiter } from '../limits/rate-limit.js';
import { HEARTBEAT_MS, NodeRegistry } from '../nodes/registry.js';
import { connectionMetrics, gatewayMetrics, processMetrics, startOperatorServer } from '../operator/index.js';
import { createOperatorApi } from '../operator/operator-api.js';
import { loadOperatorToken } from '../operator/operator-token.js';
import { diskMetrics, sandboxMetrics, statusOf } from '../operator/status.js';
import { CleanUp } from '../recovery/clean-up.js';
import { recover } from '../recovery/recover.js';
import { createRepairs } from '../recovery/repairs.js';
import { LiveSandboxes } from '../sandbox-state/live.js';
import { expireDue } from '../sandboxes/expiry.js';
import { poolableSpec } from '../sandboxes/instance-spec.js';
import { isMounted } from '../sandboxes/mounted.js';
import { openStorage } from '../storage/open.js';
import { makePrivateDirectory } from '../storage/private-directory.js';
import { ReadCache } from '../storage/read-cache.js';
import { compactMetrics } from '../telemetry/compact-metrics.js';
import { forgetOld } from '../telemetry/retention.js';
import { type CpuMemory, sampleAll } from '../telemetry/sampler.js';
import { registerVolumeContent } from '../volumes/content/routes.js';
import { volumeExists, volumeLimitMiB } from '../volumes/limit.js';
import { openVolumes } from '../volumes/open.js';
import { startWebhookWorker } from '../webhooks/delivery/worker.js';
import { BuildQueue } from '../work/build-queue.js';
import { repeat } from '../work/repeat.js';
import { Retries } from '../work/retries.js';
import { closeGateway, closeServer } from './close-server.js';
import { connectionLimits, openFileLimit } from './connection-limits.js';
import { createGatewayServer } from './gateway.js';
import { listen } from './listen.js';
import { createLogger } from './logger.js';
import { loadNodeId } from './node-id.js';
import { openDriver } from './open-driver.js';
import { OpenRequests } from './open-requests.js';
import { seed } from './seed.js';
import type { Server, StopOptions } from './server.js';
import { Unwind } from './unwind.js';

/** Between two rounds of putting samples together and forgetting what is old: often, so that each has little to do. */
const RETENTION_MS = 60_000;
/** What a template reference is looked up in. */
const TEMPLATE_TABLES = ['templates', 'template_aliases', 'template_tags', 'template_builds'] as const;

/**
 * Starts the whole service. Three phases: take hold of what is stored, make it agree with what runs, open the doors.
 * A failure undoes what was done.
 * @throws {DataDirectoryError} when other users could read the data directory and that cannot be changed.
 * @throws {DirectoryLockedError} while another server has the data directory.
 * @throws {StorageError} when the database cannot be used; {ServerKeyError} when it belongs to another key.
 * @throws {DriverError} `unsupported` when the host cannot run the driver.
 */
export async function startServer(options: ServerOptions): Promise<Server> {
  const log = createLogger(options.logLevel ?? 'info');
  const unwind = new Unwind();
  const undo = () =>
    unwind.run((step, error) => log.error({ err: error, step }, 'a step of the stop failed'));
  try {
    return await start(options, log, unwind, undo);
  } catch (error) {
    await undo();
    throw error;
  }
}

async function start(
  options: ServerOptions,
  log: ServerContext['log'],
  unwind: Unwind,
  undo: () => Promise<void>,
): Promise<Server> {
  const now = options.now ?? Date.now;
  const ids = options.ids ?? randomIds;
  const host = options.host ?? '127.0.0.1';
  const drainMs = options.drainMs ?? 10_000;

  // 1. What is stored.
  await makePrivateDirectory(options.dataDir, (fields) =>
    log.warn(fields, 'the data directory was open to other users of this machine: its mode was changed'),
  );
  const lock = await lockDirectory(options.dataDir, 'server.lock');
  unwind.add('lock', () => lock.release());
  const keys = createKeyRing(await loadServerKey(options.dataDir, options.serverKey));
  const operatorToken = await loadOperatorToken(options.dataDir, options.operatorToken);
  const nodeId = options.nodeId ?? (await loadNodeId(options.dataDir));
  const config = resolveConfig(options, { nodeId, envdVersion, apiUrl: '', sandboxUrl: '' });
  const { db, dialect, writes } = await openStorage(config.storage, config.dataDir, now);
  unwind.add('storage', () => db.destroy());
  await checkServerKey(db, keys);

  const opened = await openDriver(options, log, now);
  let destroySandboxes = options.destroySandboxesOnStop ?? false;
  unwind.add('driver', async () => {
    if (opened.owned) await opened.driver.close({ destroyInstances: destroySandboxes });
  });

  const stopping = new AbortController();
  // Every request and every boot listens.
  setMaxListeners(0, stopping.signal);
  let draining = false;
  let gateway: Gateway | undefined;
  const sandboxes = new LiveSandboxes();
  const retries = new Retries({ log });
  unwind.add('retries', () => retries.close());
  const context: ServerContext = {
    config,
    db,
    dialect,
    driver: opened.driver,
    now,
    ids,
    keys,
    log,
    events: createEventSink(ids, now),
    teams: new TeamStore({ db, now, defaults: config.teamLimits }),
    rates: new RateLimiter(config.rateLimits, now),
    processId: ids.uuid(),
    sandboxes,
    retries,
    repairs: createRepairs(() => context, retries),
    templates: new ReadCache({
      writes,
      tables: TEMPLATE_TABLES,
      believeMs: dialect === 'sqlite' ? 60_000 : 1_000,
    }),
    nodes: new NodeRegistry({ db, nodeId, shared: dialect === 'postgres', now }),
    volumes: openVolumes({
      dataDir: config.dataDir,
      driver: opened.driver,
      isMounted: (volumeId) => isMounted(sandboxes, volumeId),
      exists: (volumeId) => volumeExists(context, volumeId),
      limitMiB: (volumeId) => volumeLimitMiB(context, volumeId),
    }),
    builds: new BuildQueue(config.maxConcurrentBuilds),
    sandboxClosed: (sandboxId, reason) => void gateway?.close(sandboxId, reason),
    draining: () => draining,
    signal: stopping.signal,
  };
  unwind.add('transitions', async () => {
    stopping.abort(new Error('the server stops'));
    await Promise.allSettled([...context.sandboxes.values()].map((live) => live.transition?.result));
  });

  unwind.add('builds', () => context.builds.close());

  // 2. What runs.
  const base = {
    cpuCount: options.base?.cpuCount ?? 2,
    memoryMiB: options.base?.memoryMiB ?? 1_024,
    diskMiB: options.base?.diskMiB ?? 10_240,
  };
  const { credentials, fresh } = await seed(context, base);
  const recovery = await recover(context);
  await recoverBuilds(context);
  // Nobody waits for it: a program that writes into a deleted volume must not keep the server from starting.
  const cleanUp = new CleanUp(context, [
    ['the trash of volumes', () => context.volumes.emptyTrash()],
    ['the trash of builds', () => emptyBuildTrash(config)],
  ]);
  unwind.add('clean-up', () => cleanUp.stop());

  // 3. The doors.
  const limits = connectionLimits(options.tuning?.connections ?? {}, await openFileLimit());
  const guards = {
    api: new ConnectionGuard(limits.api),
    gateway: new ConnectionGuard(limits.gateway),
    operator: new ConnectionGuard(limits.operator),
  };
  const gatewayServer = createGatewayServer(context, options, guards.gateway);
  gateway = gatewayServer.gateway;
  const sandboxUrl = await listen(gatewayServer.server, host, options.sandboxPort ?? 3_002);
  config.sandboxUrl = options.publicSandboxUrl ?? sandboxUrl;
  unwind.add('gateway', () => closeGateway(gatewayServer));
  const api = createApi({
    context,
    handlers,
    notYet,
    routesBeside: (app) => registerVolumeContent(app, context),
    validateResponses: options.validateResponses ?? false,
    draining: () => context.draining(),
    onCredential: (socket) => guards.api.trust(socket),
  });
  await api.ready();
  guards.api.watch(api.server);
  const apiRequests = new OpenRequests();
  api.server.on('request', (req, res) => {
    // What comes later is refused at once, and not waited for.
    if (!draining) apiRequests.track(req, res);
  });
  const apiUrl = await listen(api.server, host, options.apiPort ?? 3_000);
  config.apiUrl = options.publicApiUrl ?? apiUrl;
  unwind.add('api', async () => {
    // Both go on listening, to say that the server stops, until what is under way has ended.
    await Promise.all([
      apiRequests.drained(drainMs),
      gatewayServer.open.drained(drainMs, () => gatewayServer.gateway.stats.openUpgrades),
    ]);
    await Promise.all([closeServer(api.server), closeGateway(gatewayServer)]);
    await api.close();
  });
  if (context.nodes.shared) {
    const announce = () =>
      context.nodes.announce(options.nodeApiUrl ?? apiUrl, options.nodeSandboxUrl ?? sandboxUrl);
    await announce();
    const stopHeartbeat = repeat(HEARTBEAT_MS, announce, (error) =>
      log.error({ err: error }, 'the sign of life failed, will be tried again'),
    );
    unwind.add('heartbeat', async () => {
      await stopHeartbeat();
      await context.nodes.leave();
    });
  }
  const startedAtMs = now();
  const operator =
    options.operatorPort === false
      ? undefined
      : await startOperatorServer(
          {
            metrics: async () => [
              ...sandboxMetrics(context),
              ...(await diskMetrics(context)),
              ...gatewayMetrics(gatewayServer.gateway.stats),
              ...connectionMetrics({
                api: guards.api.counts,
                gateway: guards.gateway.counts,
                operator: guards.operator.counts,
              }),
              ...processMetrics(),
            ],
            status: () => statusOf(context, opened.why, startedAtMs),
            operations: createOperatorApi({
              context,
              token: operatorToken,
              validateResponses: options.validateResponses ?? false,
            }),
            onError: (error) => log.error({ err: error }, 'the operator port failed'),
          },
          { host, port: options.operatorPort ?? 3_003 },
        );
  if (operator !== undefined) unwind.add('operator', () => operator.close());

  const tell = (what: string) => (error: unknown) =>
    log.error({ err: error }, `${what} failed, will be tried again`);
  const cpuMemory: CpuMemory = new Map();
  if (options.expiryIntervalMs !== 0)
    unwind.add(
      'expiry',
      repeat(options.expiryIntervalMs ?? 100, () => expireDue(context), tell('expiry')),
    );
  unwind.add(
    'samples',
    repeat(config.metrics.sampleMs, () => sampleAll(context, cpuMemory), tell('sampling')),
  );
  unwind.add(
    'retention',
    repeat(
      RETENTION_MS,
      async () => {
        await compactMetrics(context);
        await forgetOld(context);
      },
      tell('retention'),
    ),
  );
  const webhooks = startWebhookWorker(context);
  unwind.add('webhooks', () => webhooks.stop());

  const poolSize = options.poolSize ?? (opened.driver.name === 'linux' ? 4 : 0);
  if (poolSize > 0)
    opened.driver.setPool([
      {
        spec: poolableSpec(
          { cpu_count: base.cpuCount, memory_mb: base.memoryMiB, disk_mb: base.diskMiB },
          [],
        ),
        size: poolSize,
      },
    ]);
  log.info(
    { driver: opened.driver.name, why: opened.why, adopted: recovery.adopted, removed: recovery.removed },
    'the server is up',
  );

  let stopped: Promise<void> | undefined;
  const stop = (how: StopOptions = {}): Promise<void> => {
    stopped ??= (async () => {
      draining = true;
      destroySandboxes = how.destroySandboxes ?? destroySandboxes;
      await undo();
    })();
    return stopped;
  };
  return {
    apiUrl,
    sandboxUrl: config.sandboxUrl,
    operatorUrl: operator?.url,
    operatorToken,
    domain: config.domain,
    apiKey: credentials?.apiKey ?? '',
    firstStart: fresh,
    driver: opened.driver,
    driverReason: opened.why,
    recovery,
    context,
    expireDue: () => expireDue(context),
    sampleNow: () => sampleAll(context, cpuMemory),
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}
