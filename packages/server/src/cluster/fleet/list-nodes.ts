import { availableParallelism, freemem, loadavg, totalmem } from 'node:os';
import type { operatorComponents } from '@svc/platform/operator';
import { type Selectable, sql } from 'kysely';
import { errors } from '../../api/errors/catalog.js';
import { activeSandboxes } from '../../sandboxes/start/capacity.js';
import { fromJson, toJson } from '../../storage/json.js';
import type { NodeReport } from '../../storage/json-shapes.js';
import type { NodesTable } from '../../storage/schema.js';
import { freeDiskBytes } from '../../teams/quota/storage-use.js';
import type { Uses } from '../context.js';
import { databaseNow, nodeIsAlive, SILENCE_MS } from '../nodes/registry.js';

/** One node, and how many sandboxes it has by the records. */
interface NodeRow extends Selectable<NodesTable> {
  /** Age of its last heartbeat, ms; undefined: it left. */
  silentMs: number | undefined;
  alive: boolean;
  running: number;
  paused: number;
}

type Ports = Uses<'config' | 'db' | 'driver' | 'nodes' | 'now' | 'sandboxes'>;

/** All nodes by id. A server with a database of its own is the only one. */
export async function listNodes(context: Ports, nodeId?: string): Promise<NodeRow[]> {
  const rows = context.nodes.shared ? await readNodes(context, nodeId) : [await onlyNode(context)];
  const counts = await context.db
    .selectFrom('sandboxes')
    .select((build) => ['node_id', 'view', build.fn.countAll<number>().as('count')])
    .where('view', '!=', 'hidden')
    .$if(nodeId !== undefined, (query) => query.where('node_id', '=', nodeId!))
    .groupBy(['node_id', 'view'])
    .execute();
  const countOf = (id: string, view: 'running' | 'paused') =>
    Number(counts.find((row) => row.node_id === id && row.view === view)?.count ?? 0);
  return rows.map(({ age, ...row }) => ({
    ...row,
    silentMs: row.heartbeat_at === 0 ? undefined : Math.max(0, age),
    alive: age <= SILENCE_MS,
    running: countOf(row.id, 'running'),
    paused: countOf(row.id, 'paused'),
  }));
}

/** @throws {ApiError} 404 */
export async function findNode(context: Ports, nodeId: string): Promise<NodeRow> {
  const node = (await listNodes(context, nodeId)).find((row) => row.id === nodeId);
  if (node === undefined) throw errors.nodeNotFound(nodeId);
  return node;
}

async function readNodes({ db }: Uses<'db'>, nodeId: string | undefined) {
  const rows = await db
    .selectFrom('nodes')
    .selectAll()
    .select(sql<number>`${databaseNow} - heartbeat_at`.as('age'))
    .$if(nodeId !== undefined, (query) => query.where('id', '=', nodeId!))
    .orderBy('id')
    .execute();
  return rows.map((row) => ({ ...row, age: Number(row.age) }));
}

async function onlyNode(context: Ports): Promise<Selectable<NodesTable> & { age: number }> {
  const { config, nodes } = context;
  return {
    id: config.nodeId,
    api_url: config.apiUrl,
    sandbox_url: config.sandboxUrl,
    heartbeat_at: context.now(),
    epoch: nodes.epoch,
    drain: 'no',
    report: toJson(await measureNode(context)),
    age: 0,
  };
}

type Schemas = operatorComponents['schemas'];

export function nodeToWire(row: NodeRow): Schemas['Node'] {
  const report = fromJson(row.report);
  return {
    nodeID: row.id,
    state: row.alive ? 'alive' : row.silentMs === undefined ? 'stopped' : 'silent',
    apiUrl: row.api_url,
    sandboxUrl: row.sandbox_url,
    lastSeenSeconds: row.silentMs === undefined ? null : Math.floor(row.silentMs / 1000),
    drain: row.drain,
    sandboxes: { running: row.running, paused: row.paused },
    moving: movingOf(row, report),
    report: isWhole(report) ? reportToWire(report) : null,
  };
}

/** Its last report, with what has come to it since by the records. Once it is to keep what it has, that is ignored. */
function movingOf(
  { drain, running, paused }: NodeRow,
  { moving }: Partial<NodeReport>,
): Schemas['NodeMoving'] | null {
  if (drain !== 'move' || moving === undefined) return null;
  const staying = moving.stays.filter(({ kind }) => kind === 'sandbox').length;
  // The report lists only some of many that stay.
  const unknown = moving.staysTotal - moving.stays.length;
  return { ...moving, sandboxes: Math.max(moving.sandboxes, running + paused - staying - unknown) };
}

/** Returns whether a node has reported; before the first heartbeat it has not. */
function isWhole(report: Partial<NodeReport>): report is NodeReport {
  return report.version !== undefined;
}

function reportToWire({
  clusterId: _,
  clusterHolder: _holder,
  memoryFreeMiB,
  memoryTotalMiB,
  diskFreeMiB,
  demand: _demand,
  machine: _machine,
  moving: _moving,
  ...rest
}: NodeReport): Schemas['NodeReport'] {
  return { ...rest, memoryFreeMB: memoryFreeMiB, memoryTotalMB: memoryTotalMiB, diskFreeMB: diskFreeMiB };
}

/** Counts the servers that share the database, by their state. */
export interface NodeCounts {
  alive: number;
  /** The live ones that get no new sandboxes. */
  drained: number;
  silent: number;
  stopped: number;
}

/** Undefined for a server with a database of its own. */
export async function countNodes({ db, nodes }: Uses<'db' | 'nodes'>): Promise<NodeCounts | undefined> {
  if (!nodes.shared) return undefined;
  const rows = await db
    .selectFrom('nodes')
    .select(['drain', 'heartbeat_at', nodeIsAlive.as('alive')])
    .execute();
  const counts = { alive: 0, drained: 0, silent: 0, stopped: 0 };
  for (const { alive, drain, heartbeat_at: heartbeatAt } of rows) {
    if (alive) counts.alive += 1;
    else counts[heartbeatAt === 0 ? 'stopped' : 'silent'] += 1;
    if (alive && drain !== 'no') counts.drained += 1;
  }
  return counts;
}

const mib = (bytes: number) => Math.floor(bytes / 2 ** 20);

/** Measures the load of this node. */
export async function measureNode(context: Uses<'config' | 'driver' | 'sandboxes'>): Promise<NodeReport> {
  const { config, driver } = context;
  const [pool, diskFreeBytes] = await Promise.all([driver.poolState(), freeDiskBytes(context)]);
  return {
    version: config.envdVersion,
    driver: driver.name,
    ...(driver.shared === undefined
      ? {}
      : { clusterId: driver.shared.clusterId, clusterHolder: driver.shared.holder }),
    running: activeSandboxes(context),
    maxSandboxes: config.maxSandboxes,
    pooled: pool.waiting,
    cpuCount: availableParallelism(),
    load: Math.round((loadavg()[0] ?? 0) * 100) / 100,
    memoryFreeMiB: mib(freemem()),
    memoryTotalMiB: mib(totalmem()),
    diskFreeMiB: mib(diskFreeBytes),
    ...(driver.transfers === undefined ? {} : { machine: driver.transfers.machine }),
  };
}
