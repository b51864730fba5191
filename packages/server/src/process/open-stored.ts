import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { EgressAuthority } from '@svc/egress';
import { envdVersion } from '@svc/envd';
import type { Driver } from '@svc/runtime/contract';
import { selectDriver } from '@svc/runtime/host';
import { lockDirectory } from '#support/directory-lock';
import { AuditTrail } from '../api/audit/audit-trail.js';
import { TeamStore } from '../api/auth/team-store.js';
import type { Log } from '../api/context/context.js';
import { Retries } from '../api/context/retries.js';
import { RateLimiter } from '../api/limits/rate-limit.js';
import { Copies } from '../cluster/copies/copies.js';
import { TakeOvers } from '../cluster/fleet/take-over.js';
import { claimNode } from '../cluster/nodes/claim.js';
import { Fleet } from '../cluster/nodes/fleet.js';
import { NodeRegistry } from '../cluster/nodes/registry.js';
import { driverPrograms, linuxOptions } from '../config/driver-options.js';
import { randomIds } from '../config/ids.js';
import type { ServerOptions } from '../config/options.js';
import { resolveConfig } from '../config/resolve.js';
import { settings } from '../config/settings.js';
import { withDefaults } from '../config/walk.js';
import type { Gateway } from '../gateway/index.js';
import { loadAuthority } from '../network/egress/authority.js';
import { packetCounter } from '../network/egress/count-packets.js';
import { policyOf } from '../network/egress/policy-of.js';
import { startEgress } from '../network/egress/start-egress.js';
import { TrafficCounters } from '../network/egress/traffic.js';
import { SigningKeys } from '../network/identity/signing-keys.js';
import type { OpenMetrics } from '../operator/metrics/open-metrics.js';
import { loadOperatorToken } from '../operator/operator-token.js';
import { openTracing } from '../operator/tracing/open-tracing.js';
import { createEventSink, meterEvents } from '../sandboxes/events/sink.js';
import { createRepairs } from '../sandboxes/recovery/repairs.js';
import { configOf, isMounted } from '../sandboxes/state/config.js';
import { LiveSandboxes } from '../sandboxes/state/live.js';
import { egressObserver } from '../sandboxes/telemetry/egress-observer.js';
import { adoptEarlierVolumes } from '../storage/data/data-layout.js';
import { makePrivateDirectory, requireWhole } from '../storage/data/private-directory.js';
import { checkServerKey, loadServerKey } from '../storage/keys/check-key.js';
import { createKeyRing } from '../storage/keys/key-ring.js';
import { openStorage } from '../storage/open.js';
import { ReadCache } from '../storage/read-cache.js';
import { EgressLimits } from '../teams/usage/egress-limits.js';
import { UsageMeter } from '../teams/usage/usage-meter.js';
import { BuildQueue } from '../templates/build-queue.js';
import { createVolumeStore, volumeExists, volumeLimitMiB } from '../volumes/store.js';
import type { ServerContext } from './context.js';
import { type Certificates, openCertificates } from './tls/certificates.js';
import type { Unwind } from './unwind.js';

/** Tables that a template reference is looked up in. */
const TEMPLATE_TABLES = ['templates', 'template_aliases', 'template_tags', 'template_builds'] as const;

/** State that changes while a server lives. */
interface Lifecycle {
  /** True once it takes no new work. */
  draining: boolean;
  /** True when its stop ends the sandboxes too. */
  destroySandboxes: boolean;
  gateway: Gateway | undefined;
}

/** A server that has opened its stored state, and does nothing yet. */
export interface Stored {
  context: ServerContext;
  opened: OpenedDriver;
  operatorToken: string;
  lifecycle: Lifecycle;
  /** Undefined for listeners without encryption. */
  certificates: Certificates | undefined;
  /** Undefined without an operator port. */
  openMetrics: OpenMetrics | undefined;
}

/** The first phase of a start: opens the data directory, the database and the driver. */
export async function openStored(options: ServerOptions, log: Log, unwind: Unwind): Promise<Stored> {
  const now = options.now ?? Date.now;
  const ids = options.ids ?? randomIds;
  await makePrivateDirectory(options.dataDir, (fields) =>
    log.warn(fields, 'the data directory was open to other users of this machine: its mode was changed'),
  );
  await requireWhole(options.dataDir);
  // First: the operator who named the wrong files hears of it before anything is taken over.
  const certificates = await openCertificates(options.tls ?? {}, { log, now });
  if (certificates !== undefined) unwind.add('certificates', () => certificates.close());
  const lock = await lockDirectory(options.dataDir, 'server.lock');
  unwind.add('lock', () => lock.release());
  const keys = createKeyRing(await loadServerKey(options.dataDir, options.serverKey));
  const operatorToken = await loadOperatorToken(options.dataDir, options.operatorToken);
  const nodeId = options.nodeId ?? (await loadNodeId(options.dataDir));
  const config = resolveConfig(options, { nodeId, envdVersion, apiUrl: '', sandboxUrl: '' });
  const { tracing: tracingSettings } = withDefaults(settings, options);
  const tracing = await openTracing(
    tracingSettings,
    { nodeId, system: config.storage.kind === 'sqlite' ? 'sqlite' : 'postgresql' },
    (fields, message) => log.warn(fields, message),
  );
  if (tracing !== undefined) unwind.add('tracing', () => tracing.close());
  const tracer = tracing?.tracer;
  const { db, dialect, writes, migrated } = await openStorage(
    config.storage,
    config.dataDir,
    tracing?.onQuery,
  );
  unwind.add('storage', () => db.destroy());
  const audit = new AuditTrail({ db, ids, nodeId, now, log });
  unwind.add('audit', () => audit.close());
  if (migrated.length > 0)
    log.info({ steps: migrated }, 'the database was of an earlier version and was brought up to date');
  await checkServerKey(db, keys);
  const shared = dialect === 'postgres';
  const epoch = shared ? await claimNode({ db, nodeId, dataDir: options.dataDir }) : 1;

  const lifecycle: Lifecycle = {
    draining: false,
    destroySandboxes: options.destroySandboxesOnStop ?? false,
    gateway: undefined,
  };
  // A driver in this process is no safer than the server's own key.
  const transferKey = options.transferKey ?? keys.derive('transfers').toString('hex');
  const opened = await openDriver({ ...options, transferKey }, log, now);
  const driver = tracing === undefined ? opened.driver : tracing.traceDriver(opened.driver);
  unwind.add('driver', async () => {
    if (opened.owned) await opened.driver.close({ destroyInstances: lifecycle.destroySandboxes });
  });

  const openMetrics =
    options.operatorPort === false
      ? undefined
      : (await import('../operator/metrics/open-metrics.js')).openMetrics();
  unwind.add('metrics', () => openMetrics?.close());
  const stopping = new AbortController();
  // Every request and every boot listens.
  setMaxListeners(0, stopping.signal);
  const sandboxes = new LiveSandboxes();
  let authority: Promise<EgressAuthority> | undefined;
  const usage = new UsageMeter(now);
  const traffic = new TrafficCounters();
  const observer = egressObserver(() => context);
  const egress = await startEgress(() => context, config, driver, traffic, observer);
  unwind.add('egress', () => egress.close());
  const retries = new Retries({ log });
  unwind.add('retries', () => retries.close());
  const context: ServerContext = {
    config,
    db,
    dialect,
    driver,
    tracer,
    now,
    ids,
    keys,
    authority: () => (authority ??= loadAuthority({ db, keys, now })),
    identity: new SigningKeys({ config, db, keys, now }),
    log,
    events: meterEvents(createEventSink(ids, now), usage, sandboxes),
    usage,
    audit,
    teams: new TeamStore({ db, now, defaults: config.teamLimits }),
    rates: new RateLimiter(config.rateLimits, now, { shared }),
    processId: ids.uuid(),
    sandboxes,
    retries,
    repairs: createRepairs(() => context, retries),
    templates: new ReadCache({
      writes,
      tables: TEMPLATE_TABLES,
      ttlMs: dialect === 'sqlite' ? 60_000 : 1_000,
    }),
    nodes: new NodeRegistry({ db, nodeId, epoch, shared, now }),
    fleet: new Fleet({ db, nodeId, now }),
    takeOvers: new TakeOvers(() => context),
    volumes: createVolumeStore({
      volumes: driver.volumes,
      isMounted: (volumeId) => isMounted(sandboxes, volumeId),
      exists: (volumeId) => volumeExists(context, volumeId),
      limitMiB: (volumeId) => volumeLimitMiB(context, volumeId),
    }),
    copies: new Copies(() => context),
    egress,
    traffic,
    egressLimits: new EgressLimits(),
    countPackets: packetCounter(() => context, {
      count: (report) => traffic.add(report),
      observer,
      policyOf: (sandboxId) => {
        const live = sandboxes.get(sandboxId);
        return live && policyOf(configOf(live.row));
      },
    }),
    builds: new BuildQueue(config.maxConcurrentBuilds),
    sandboxClosed: (sandboxId, reason) => void lifecycle.gateway?.close(sandboxId, reason),
    metrics: openMetrics?.metrics,
    draining: () => lifecycle.draining || context.nodes.taken,
    signal: stopping.signal,
  };
  unwind.add('transitions', async () => {
    stopping.abort(new Error('the server stops'));
    await Promise.allSettled([...sandboxes.values()].map((live) => live.transition?.result));
  });
  unwind.add('copies', () => context.copies.close());
  unwind.add('builds', () => context.builds.close());
  return { context, opened, operatorToken, lifecycle, certificates, openMetrics };
}

/** The name of this node, made once and kept in the data directory. */
async function loadNodeId(dataDir: string): Promise<string> {
  const file = path.join(dataDir, 'node-id');
  const known = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (known !== '') return known;
  const nodeId = randomUUID();
  await writeFile(file, `${nodeId}\n`, { mode: 0o600 });
  return nodeId;
}

interface OpenedDriver {
  driver: Driver;
  why: string;
  /** False: the caller of `startServer` closes it. */
  owned: boolean;
}

/** Opens the driver that was asked for; by default the one that isolates. Never falls back to less. */
async function openDriver(options: ServerOptions, log: Log, now: () => number): Promise<OpenedDriver> {
  const desired = options.driver;
  if (typeof desired === 'object') return { driver: desired, why: 'It was given.', owned: false };
  const dataDir = path.join(options.dataDir, 'driver');
  await adoptEarlierVolumes(options.dataDir, dataDir);
  const { driver, why } = await selectDriver({
    dataDir,
    ...driverPrograms(),
    now,
    preferred: desired,
    log: (level, message, fields) => log[level]({ ...fields }, message),
    linux: linuxOptions(options),
    incus: options.incus ?? {},
    trialStart: options.trialStart === true,
  });
  return { driver, why, owned: true };
}
