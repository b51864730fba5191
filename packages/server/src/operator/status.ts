import { reserveBytes } from '@svc/runtime/host';
import type { Uses } from '../cluster/context.js';
import { countNodes, type NodeCounts } from '../cluster/fleet/list-nodes.js';
import { policyProblem } from '../network/egress/policy-of.js';
import type { RecoveryReport } from '../sandboxes/recovery/recover.js';
import { configOf } from '../sandboxes/state/config.js';
import { newerSteps } from '../storage/migrate.js';
import { databaseProblem } from '../storage/open.js';
import { freeDiskBytes } from '../teams/quota/storage-use.js';
import { byLabel, gauge, type MetricFamily } from './metrics/family.js';

export interface ServerStatus {
  /** `degraded`: something that requests need does not answer; see `reason`. */
  state: 'running' | 'degraded' | 'draining';
  /** The reason why the server is degraded, or takes no work without a stop. */
  reason?: string;
  nodeId: string;
  apiUrl: string;
  sandboxUrl: string;
  driver: { name: string; summary: string; why: string; capabilities: unknown };
  storage: string;
  uptimeSeconds: number;
  sandboxes: { running: number; paused: number; changing: number; most: number };
  /** Sandboxes of the server before that this one found at its start: running, paused, and ended or lost meanwhile. */
  recovered: { running: number; paused: number; removed: number };
  disk: DiskStatus;
  /**
   * Problems that keep the driver from what it promised to running sandboxes, such as a missing fence of Incus, and sandboxes that
   * send nothing because their stored network settings cannot be read.
   */
  problems?: string[];
  /** Servers that share the database, this one among them. */
  nodes?: NodeCounts;
  /** Steps of the schema that a newer server has made and this version does not know: update this one too. */
  newerSchema?: string[];
}

/** Sandboxes with unreadable settings that a status names one by one. */
const MOST_NAMED = 20;

/** MiB. `store` is where sandboxes, volumes, snapshots and layers are, when the driver has one of its own. */
export interface DiskStatus {
  freeMiB: number;
  reserveMiB: number;
  store?: { usedMiB: number; freeMiB: number; totalMiB: number };
}

/** Returns the status for `svc server status`. */
export async function statusOf(
  context: Uses<
    'config' | 'db' | 'dialect' | 'draining' | 'driver' | 'egress' | 'nodes' | 'now' | 'sandboxes'
  >,
  driverReason: string,
  startedAtMs: number,
  recovery: RecoveryReport,
): Promise<ServerStatus> {
  const { config, driver } = context;
  const problem = context.draining() ? undefined : await databaseProblem(context.db);
  const shared = problem === undefined && context.nodes.shared ? await ofSharedDatabase(context) : {};
  const sandboxes = await countSandboxes(context, problem === undefined);
  const problems = [...(driver.problems?.() ?? []), ...unreadableSettings(context)];
  return {
    state: context.draining() ? 'draining' : problem === undefined ? 'running' : 'degraded',
    ...(context.nodes.taken
      ? { reason: 'another process has the name of this node, or an operator removed it: stop this server' }
      : problem === undefined
        ? {}
        : { reason: `the database cannot be used: ${problem}` }),
    nodeId: config.nodeId,
    apiUrl: config.apiUrl,
    sandboxUrl: config.sandboxUrl,
    driver: {
      name: driver.name,
      summary: driver.summary,
      why: driverReason,
      capabilities: driver.capabilities,
    },
    storage: context.dialect,
    uptimeSeconds: Math.floor((context.now() - startedAtMs) / 1000),
    sandboxes: { ...sandboxes, most: config.maxSandboxes },
    recovered: { running: recovery.adopted, paused: recovery.paused, removed: recovery.removed },
    disk: await diskStatus(context),
    ...(problems.length === 0 ? {} : { problems }),
    ...shared,
  };
}

/** Names the sandboxes that send nothing because nobody can read their network settings, or the egress process refused them. */
function unreadableSettings({ egress, sandboxes }: Uses<'egress' | 'sandboxes'>): string[] {
  const named = [...sandboxes.values()].flatMap(({ row }) => {
    const problem = policyProblem(configOf(row)) ?? egress.refused.get(row.id);
    return problem === undefined ? [] : [`sandbox ${row.id} sends nothing: ${problem}`];
  });
  const more = named.length - MOST_NAMED;
  return more > 0 ? [...named.slice(0, MOST_NAMED), `and ${more} more sandboxes`] : named;
}

async function ofSharedDatabase(
  context: Uses<'db' | 'nodes'>,
): Promise<Pick<ServerStatus, 'nodes' | 'newerSchema'>> {
  const [nodes, newer] = await Promise.all([countNodes(context), newerSteps(context.db)]);
  return {
    ...(nodes === undefined ? {} : { nodes }),
    ...(newer.length === 0 ? {} : { newerSchema: newer }),
  };
}

async function diskStatus(context: Uses<'config' | 'driver'>): Promise<DiskStatus> {
  const mib = (bytes: number) => Math.round(bytes / 2 ** 20);
  const { dataDir, diskReserveMiB } = context.config;
  const store = await context.driver.storage?.();
  return {
    freeMiB: mib(await freeDiskBytes(context)),
    reserveMiB: mib(reserveBytes(dataDir, diskReserveMiB)),
    ...(store === undefined
      ? {}
      : {
          store: {
            usedMiB: mib(store.storeUsedBytes),
            freeMiB: mib(store.storeFreeBytes),
            totalMiB: mib(store.storeTotalBytes),
          },
        }),
  };
}

/** Room on the disk, as metrics. */
export async function diskMetrics(context: Uses<'config' | 'driver'>): Promise<MetricFamily[]> {
  const { freeMiB, reserveMiB, store } = await diskStatus(context);
  const bytes = (mib: number) => mib * 2 ** 20;
  return [
    gauge('svc_disk_free_bytes', 'Free on the disk of the data directory.', bytes(freeMiB)),
    gauge('svc_disk_reserve_bytes', 'What the service leaves free there.', bytes(reserveMiB)),
    ...(store === undefined
      ? []
      : [
          gauge(
            'svc_store_used_bytes',
            'Used by sandboxes, volumes, snapshots and layers.',
            bytes(store.usedMiB),
          ),
          gauge('svc_store_free_bytes', 'Free for them.', bytes(store.freeMiB)),
        ]),
  ];
}

/** Counts the problems that the operator has to repair, as metrics. */
export function driverMetrics({ driver }: Uses<'driver'>): MetricFamily[] {
  const problems = driver.problems?.() ?? [];
  return [
    gauge(
      'svc_driver_problems',
      'Things that keep the driver from what it promised to sandboxes that run; /status says which.',
      problems.length,
    ),
  ];
}

interface SandboxCounts {
  running: number;
  paused: number;
  changing: number;
}

/** Counts the sandboxes of this server: the live ones, and paused ones that no request named since its start. */
async function countSandboxes(
  context: Uses<'config' | 'db' | 'sandboxes'>,
  databaseAnswers: boolean,
): Promise<SandboxCounts> {
  const held = countLive(context);
  if (!databaseAnswers) return held;
  const stored = await context.db
    .selectFrom('sandboxes')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('node_id', '=', context.config.nodeId)
    .where('state', '=', 'paused')
    .executeTakeFirstOrThrow();
  return { ...held, paused: Number(stored.count) };
}

/** Counts the live sandboxes of this process. */
function countLive(context: Uses<'sandboxes'>): SandboxCounts {
  const counts = { running: 0, paused: 0, changing: 0 };
  for (const live of context.sandboxes.values()) {
    if (live.transition !== undefined) counts.changing += 1;
    else if (live.row.state === 'running') counts.running += 1;
    else counts.paused += 1;
  }
  return counts;
}

/** The sandboxes of this server, as metrics. */
export async function sandboxMetrics(context: Uses<'config' | 'db' | 'sandboxes'>): Promise<MetricFamily[]> {
  const problem = await databaseProblem(context.db);
  const counts = await countSandboxes(context, problem === undefined);
  return [gauge('svc_sandboxes', 'Sandboxes of this server.', byLabel('state', { ...counts }))];
}
