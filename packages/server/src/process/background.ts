import { totalmem } from 'node:os';
import { repeat } from '../api/context/repeat.js';
import { dropCopies } from '../cluster/copies/drop-copies.js';
import { clearDeleted } from '../cluster/fleet/clear-deleted.js';
import { clearLost } from '../cluster/fleet/clear-lost.js';
import type { ResolvedSettings } from '../config/config.js';
import { LINUX_POOL_SIZE } from '../config/settings.js';
import { enforceEgressLimits } from '../sandboxes/change/enforce-egress-limits.js';
import { expireDue } from '../sandboxes/change/expiry.js';
import { repairTeamRunning } from '../sandboxes/change/repair-team-running.js';
import { poolableSpec } from '../sandboxes/start/instance-spec.js';
import { compactMetrics } from '../sandboxes/telemetry/compact-metrics.js';
import { type CpuMemory, sampleAll } from '../sandboxes/telemetry/sampler.js';
import { writeUsage } from '../teams/usage/write-usage.js';
import { tightenVolumes } from '../volumes/store.js';
import { startWebhookWorker } from '../webhooks/delivery/worker.js';
import type { ServerContext } from './context.js';
import { forgetOld } from './retention.js';
import type { Unwind } from './unwind.js';

/** Interval of compacting samples and deleting old data, ms: often, so that each round has little to do. */
const RETENTION_MS = 60_000;
/** Interval of checks of growing volumes, ms. */
const VOLUME_LIMITS_MS = 2_000;

/** Interval of comparing the counters of teams with their sandboxes, ms. */
const COUNTERS_MS = 600_000;

/** Interval of writing the usage of teams, ms: a killed server loses as much. */
const USAGE_MS = 60_000;

/** Interval of reading refused packets, ms. */
const PACKETS_MS = 10_000;

/** Interval of checks for unused copies, ms. */
const COPIES_MS = 15_000;

/** Interval of checks for templates that other servers deleted, ms. */
const DELETED_MS = 15_000;

/** Interval of checks for orphans of lost nodes on a cluster, ms: each lists all of its instances and volumes. */
const LEFTOVERS_MS = 300_000;

/** Starts what the server does by itself: expiries, samples, retention, deliveries, the pool. */
export function startBackground(
  context: ServerContext,
  settings: ResolvedSettings,
  cpuMemory: CpuMemory,
  unwind: Unwind,
): void {
  const { config, driver, log } = context;
  const { expiryIntervalMs } = settings;
  const every = (name: string, what: string, intervalMs: number, work: () => Promise<unknown>) =>
    unwind.add(
      name,
      repeat(intervalMs, work, (error) => log.error({ err: error }, `${what} failed, will be tried again`)),
    );
  if (expiryIntervalMs !== 0)
    every('expiry', 'expiry', expiryIntervalMs, async () => {
      if (!context.nodes.taken) await expireDue(context);
    });
  if (context.copies.possible)
    every('copies', 'removing copies', COPIES_MS, async () => {
      if (!context.nodes.taken) await dropCopies(context);
    });
  if (context.nodes.shared)
    every('deleted templates', 'clearing what others deleted', DELETED_MS, async () => {
      if (!context.nodes.taken) await clearDeleted(context);
    });
  if (driver.shared !== undefined)
    every('leftovers', 'removing orphans of lost nodes', LEFTOVERS_MS, () => clearLost(context));
  every('samples', 'sampling', config.metrics.sampleMs, () => sampleAll(context, cpuMemory));
  every('retention', 'retention', RETENTION_MS, async () => {
    await compactMetrics(context);
    await forgetOld(context);
  });
  every('counters', 'comparing counters of teams', COUNTERS_MS, () => repairTeamRunning(context));
  // Use before this server started is not its own; use while no server runs is not counted.
  const firstUsage = writeUsage(context)
    .then(() => enforceEgressLimits(context))
    .catch((error: unknown) =>
      log.warn({ err: error }, 'the usage of teams was not written, will be tried again'),
    );
  unwind.add('usage', async () => {
    await firstUsage;
    await writeUsage(context).catch((error: unknown) =>
      log.warn({ err: error }, 'the last usage of teams was not written'),
    );
  });
  every('usage rounds', 'writing the usage of teams', USAGE_MS, async () => {
    await context
      .countPackets()
      .catch((error: unknown) => log.warn({ err: error }, 'the traffic of sandboxes was not read'));
    await writeUsage(context);
    await enforceEgressLimits(context);
  });
  if (driver.refusedPackets !== undefined) {
    // Earlier counts do not belong to this server.
    context.countPackets().catch((error: unknown) => log.debug({ err: error }, 'no packets were counted'));
    every('packets', 'counting packets of sandboxes', PACKETS_MS, () => context.countPackets());
  }
  if (driver.capabilities.mounts)
    every('volume limits', 'limiting volumes', VOLUME_LIMITS_MS, () => tightenVolumes(context));
  const webhooks = startWebhookWorker(context);
  unwind.add('webhooks', () => webhooks.stop());

  startPool(context, settings);
}

/** The share of the host's memory that pooled sandboxes may use. */
const POOL_MEMORY_SHARE = 1 / 16;

function startPool({ config, driver }: ServerContext, { base, poolSize, poolMemoryMiB }: ResolvedSettings) {
  const size = poolSize ?? (driver.name === 'linux' ? LINUX_POOL_SIZE : 0);
  const share = Math.floor((totalmem() * POOL_MEMORY_SHARE) / 2 ** 20);
  const memoryMiB = poolMemoryMiB ?? (size > 0 ? share : 0);
  const sizes = { cpu_count: base.cpuCount, memory_mb: base.memoryMiB, disk_mb: base.diskMiB };
  const requests = size > 0 ? [{ spec: poolableSpec(sizes, [], config.templateIsolation.base), size }] : [];
  if (size > 0 || memoryMiB > 0) driver.setPool(requests, memoryMiB > 0 ? { memoryMiB } : undefined);
}
