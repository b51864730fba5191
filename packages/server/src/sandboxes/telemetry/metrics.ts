import type { components } from '@svc/platform';
import type { InstanceStats } from '@svc/runtime/contract';
import type { Selectable } from 'kysely';
import { errors } from '../../api/errors/catalog.js';
import { isoTime } from '../../api/wire/time.js';
import type { SandboxMetricsTable } from '../../storage/schema.js';
import type { Uses } from '../context.js';
import type { Sample } from './store-samples.js';

type Metric = components['schemas']['SandboxMetric'];

/** Most samples of one answer. */
const MAX_SAMPLES = 400;

export function metricToWire(row: Selectable<SandboxMetricsTable>): Metric {
  return {
    timestamp: isoTime(row.at),
    timestampUnix: Math.floor(row.at / 1000),
    cpuCount: row.cpu_count,
    cpuUsedPct: row.cpu_used_pct,
    memUsed: row.mem_used,
    memTotal: row.mem_total,
    memCache: row.mem_cache,
    diskUsed: row.disk_used,
    diskTotal: row.disk_total,
  };
}

/** One sample, from a reading and the one before. */
export function sampleOf(
  sandbox: { id: string; team_id: string; cpu_count: number; memory_mb: number; disk_mb: number },
  at: number,
  stats: InstanceStats,
  before: { cpuUsageUs: number; at: number } | undefined,
): Sample {
  const cpuCount = Math.max(1, Math.round(stats.cpuCount || sandbox.cpu_count));
  const elapsedUs = before === undefined ? 0 : (at - before.at) * 1000;
  const usedUs = before === undefined ? 0 : Math.max(0, stats.cpuUsageUs - before.cpuUsageUs);
  const share = elapsedUs <= 0 ? 0 : (usedUs / elapsedUs / cpuCount) * 100;
  return {
    sandbox_id: sandbox.id,
    team_id: sandbox.team_id,
    at,
    cpu_count: cpuCount,
    cpu_used_pct: Math.round(Math.min(100, share) * 100) / 100,
    mem_used: Math.round(stats.memoryBytes),
    mem_total: Math.round(stats.memoryLimitBytes || sandbox.memory_mb * 1_048_576),
    mem_cache: Math.round(stats.memoryCacheBytes),
    disk_used: Math.round(stats.diskUsedBytes),
    disk_total: Math.round(stats.diskLimitBytes || sandbox.disk_mb * 1_048_576),
  };
}

/** Samples of a period, oldest first, thinned out when there are many. @throws {ApiError} 400 when it ends before it starts */
export async function readMetrics(
  context: Uses<'config' | 'db' | 'now'>,
  options: {
    teamId: string;
    sandboxId: string;
    startSeconds?: number | undefined;
    endSeconds?: number | undefined;
  },
): Promise<Metric[]> {
  const { startSeconds, endSeconds } = options;
  if (startSeconds !== undefined && endSeconds !== undefined && startSeconds > endSeconds)
    throw errors.badRequest('start must not be after end');
  let query = context.db
    .selectFrom('sandbox_metrics')
    .selectAll()
    .where('sandbox_id', '=', options.sandboxId)
    .where('team_id', '=', options.teamId)
    .where(
      'at',
      '>=',
      Math.max((startSeconds ?? 0) * 1000, context.now() - context.config.metrics.retentionMs),
    );
  if (endSeconds !== undefined) query = query.where('at', '<', (endSeconds + 1) * 1000);
  const rows = await query.orderBy('at').execute();
  const step = Math.ceil(rows.length / MAX_SAMPLES);
  return (step <= 1 ? rows : rows.filter((_, index) => (rows.length - 1 - index) % step === 0)).map(
    metricToWire,
  );
}

/** The latest sample of each sandbox; those without data are absent. */
export async function latestMetrics(
  context: Uses<'db'>,
  teamId: string,
  sandboxIds: string[],
): Promise<Record<string, Metric>> {
  if (sandboxIds.length === 0) return {};
  const rows = await context.db
    .selectFrom('sandbox_metrics as sample')
    .selectAll('sample')
    .where('sample.sandbox_id', 'in', sandboxIds)
    .where('sample.team_id', '=', teamId)
    .where('sample.at', '=', (build) =>
      build
        .selectFrom('sandbox_metrics as later')
        .select((inner) => inner.fn.max('later.at').as('at'))
        .whereRef('later.sandbox_id', '=', 'sample.sandbox_id'),
    )
    .execute();
  return Object.fromEntries(rows.map((row) => [row.sandbox_id, metricToWire(row)]));
}
