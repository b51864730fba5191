import type { TracingCounts } from '../../api/context/tracer.js';
import type { ConnectionCounts } from '../../api/limits/connections.js';
import type { Uses } from '../../cluster/context.js';
import { countNodes } from '../../cluster/fleet/list-nodes.js';
import type { GatewayStats } from '../../gateway/index.js';
import { databaseProblem } from '../../storage/open.js';
import { byLabel, counter, gauge, type MetricFamily } from './family.js';

/** The queues of this server: sandboxes in the pool, template builds, and deliveries of webhooks. */
export async function backlogMetrics(
  context: Uses<'builds' | 'db' | 'driver' | 'now'>,
): Promise<MetricFamily[]> {
  const { waiting, wanted, memoryBytes, hits, misses } = await context.driver.poolState();
  return [
    gauge(
      'svc_pool_sandboxes',
      'Sandboxes that wait booted, and how many are to.',
      byLabel('state', { waiting, wanted }),
    ),
    gauge('svc_pool_memory_bytes', 'Memory that those that wait use.', memoryBytes),
    counter(
      'svc_pool_requests_total',
      'New sandboxes that found one waiting (hit) and that found none (miss).',
      byLabel('outcome', { hit: hits, miss: misses }),
    ),
    gauge('svc_builds', 'Template builds that run or wait here.', context.builds.size),
    ...(await databaseMetrics(context)),
  ];
}

/** Availability and latency of the database, and the deliveries in it for all servers that share it. */
async function databaseMetrics({ db, now }: Uses<'db' | 'now'>): Promise<MetricFamily[]> {
  const from = performance.now();
  const up = (await databaseProblem(db)) === undefined;
  const state = [
    gauge('svc_database_up', '1 while the database answers.', up ? 1 : 0),
    gauge(
      'svc_database_answer_seconds',
      'How long it took to answer the question whether it does.',
      (performance.now() - from) / 1000,
    ),
  ];
  if (!up) return state;
  const { pending, oldest } = await db
    .selectFrom('webhook_deliveries')
    .select((build) => [
      build.fn.countAll<number>().as('pending'),
      // An event that is delivered again waits since that was requested.
      build.fn.min<number | null>(build.fn.coalesce('redelivered_at', 'created_at')).as('oldest'),
    ])
    .where('status', '=', 'pending')
    .executeTakeFirstOrThrow();
  return [
    ...state,
    gauge(
      'svc_webhook_deliveries_pending',
      'Events that webhooks have not got yet, on all servers.',
      Number(pending),
    ),
    gauge(
      'svc_webhook_oldest_pending_seconds',
      'Age of the oldest of them.',
      oldest === null ? 0 : Math.max(0, (now() - Number(oldest)) / 1000),
    ),
  ];
}

/** Connections of each listener, as metrics. */
export function connectionMetrics(listeners: Record<string, ConnectionCounts>): MetricFamily[] {
  const each = (count: keyof ConnectionCounts) =>
    Object.entries(listeners).map(([listener, counts]) => ({ value: counts[count], labels: { listener } }));
  return [
    gauge('svc_connections', 'Open connections of clients.', each('open')),
    counter('svc_connections_refused_total', 'Connections beyond a limit.', each('refused')),
    counter(
      'svc_connections_evicted_total',
      'Unused connections that gave way to new ones.',
      each('evicted'),
    ),
  ];
}

/** Traffic that left sandboxes through the egress process, as metrics. Empty for drivers without one. */
export function egressMetrics({
  driver,
  egress,
  traffic,
}: Uses<'driver' | 'egress' | 'traffic'>): MetricFamily[] {
  if (driver.egress === undefined) return [];
  const { allowed, denied, failed, bytesSent, bytesReceived } = traffic.totals;
  return [
    gauge(
      'svc_egress_connected',
      '1 while the egress process has heard of every policy.',
      egress.connected ? 1 : 0,
    ),
    counter(
      'svc_egress_connections_total',
      'Connections that policies decided, and requests where each is decided.',
      byLabel('outcome', { allowed, denied, failed }),
    ),
    counter(
      'svc_egress_bytes_total',
      'Bytes of those connections, as sandboxes see them.',
      byLabel('direction', { sent: bytesSent, received: bytesReceived }),
    ),
  ];
}

/** Counts of the gateway, as metrics. */
export function gatewayMetrics(stats: GatewayStats): MetricFamily[] {
  const of = (make: typeof gauge) => (name: string, help: string, value: number) =>
    make(`svc_gateway_${name}`, help, value);
  const [now, total] = [of(gauge), of(counter)];
  return [
    total('requests_total', 'Requests for sandboxes, refused ones included.', stats.requests),
    total('upgrades_total', 'Requests to switch protocols.', stats.upgrades),
    now('open_requests', 'Requests on their way through.', stats.openRequests),
    now('open_upgrades', 'Upgraded connections.', stats.openUpgrades),
    counter(
      'svc_gateway_refusals_total',
      'Answers that the gateway gave by itself.',
      byLabel('reason', stats.refusals),
    ),
    total('client_aborts_total', 'Exchanges that the client left early.', stats.clientAborts),
    total('upstream_aborts_total', 'Answers that broke at the sandbox.', stats.upstreamAborts),
    total('closed_exchanges_total', 'Exchanges ended because their sandbox stopped.', stats.closedExchanges),
    total('auto_resumes_total', 'Sandboxes woken by a request, failed attempts included.', stats.autoResumes),
    total('dials_total', 'Connections into sandboxes that were begun.', stats.dials),
    total('dial_retries_total', 'Further tries of a dial.', stats.dialRetries),
    total('dial_failures_total', 'Dials that failed.', stats.dialFailures),
    total('reused_connections_total', 'Requests sent on a kept connection.', stats.reusedConnections),
    now('idle_connections', 'Connections into sandboxes that wait for a request.', stats.idleConnections),
    total('request_bytes_total', 'Bytes of request bodies.', stats.requestBytes),
    total('response_bytes_total', 'Bytes of response bodies.', stats.responseBytes),
  ];
}

/** The servers that share the database, as metrics. */
export async function nodeMetrics(context: Uses<'db' | 'nodes'>): Promise<MetricFamily[]> {
  const counts = await countNodes(context);
  if (counts === undefined) return [];
  return [
    gauge(
      'svc_nodes',
      'Servers that share the database; drained ones are among those that are alive.',
      byLabel('state', { ...counts }),
    ),
  ];
}

/** Time and memory of this server process. */
export function processMetrics(): MetricFamily[] {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  return [
    counter('process_cpu_seconds_total', 'CPU time of the server.', (user + system) / 1e6),
    gauge('process_resident_memory_bytes', 'Resident memory of the server.', rss),
    gauge('nodejs_heap_used_bytes', 'Used JavaScript heap of the server.', heapUsed),
    gauge('process_uptime_seconds', 'Time since the server started.', process.uptime()),
  ];
}

/** Exported and dropped spans; nothing without tracing. */
export function tracingMetrics(counts: TracingCounts | undefined): MetricFamily[] {
  if (counts === undefined) return [];
  return [
    counter(
      'svc_tracing_spans_total',
      'Spans that were exported, and dropped because the collector did not take them.',
      byLabel('outcome', { exported: counts.exported, dropped: counts.dropped }),
    ),
  ];
}
