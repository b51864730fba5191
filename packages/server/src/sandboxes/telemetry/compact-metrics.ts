import { otherWork } from '../../storage/delete-in-batches.js';
import type { Uses } from '../context.js';

type Context = Uses<'db' | 'now'>;

/** One level of detail: samples of the level before that are older than `afterMs` become one sample per `spanMs`. */
export interface MetricTier {
  afterMs: number;
  spanMs: number;
}

const MINUTE_MS = 60_000;

/** Every reading for one hour, then one sample per minute for a day, then one per ten minutes. */
export const METRIC_TIERS: readonly MetricTier[] = [
  { afterMs: 60 * MINUTE_MS, spanMs: MINUTE_MS },
  { afterMs: 1_440 * MINUTE_MS, spanMs: 10 * MINUTE_MS },
];

/** Sandboxes per transaction: about 300 rows with a reading every 5 s. */
const SANDBOXES = 25;

/**
 * Merges old samples into their mean, with the time of the last one. It takes a few sandboxes and one span at a time, so that
 * other work can run in between. Idempotent.
 * @returns how many samples were removed
 */
export async function compactMetrics(
  context: Context,
  tiers: readonly MetricTier[] = METRIC_TIERS,
): Promise<number> {
  let removed = 0;
  let fromSpanMs = 0;
  for (const tier of tiers) {
    removed += await compactTier(context, fromSpanMs, tier);
    fromSpanMs = tier.spanMs;
  }
  return removed;
}

async function compactTier(
  context: Context,
  fromSpanMs: number,
  { afterMs, spanMs }: MetricTier,
): Promise<number> {
  // Only complete spans: a span may still get readings until its end.
  const end = floorTo(context.now() - afterMs, spanMs);
  let removed = 0;
  let from = 0;
  for (;;) {
    const oldest = await context.db
      .selectFrom('sandbox_metrics')
      .select('at')
      .where('span_ms', '=', fromSpanMs)
      .where('at', '>=', from)
      .where('at', '<', end)
      .orderBy('at')
      .limit(1)
      .executeTakeFirst();
    if (oldest === undefined) return removed;
    from = floorTo(Number(oldest.at), spanMs);
    removed += await compactSpan(context, fromSpanMs, { from, to: from + spanMs });
    from += spanMs;
  }
}

async function compactSpan(
  { db }: Context,
  fromSpanMs: number,
  { from, to }: { from: number; to: number },
): Promise<number> {
  let removed = 0;
  for (;;) {
    const batch = await db.transaction().execute(async (tx) => {
      const ids = await tx
        .selectFrom('sandbox_metrics')
        .select('sandbox_id')
        .distinct()
        .where('span_ms', '=', fromSpanMs)
        .where('at', '>=', from)
        .where('at', '<', to)
        .limit(SANDBOXES)
        .execute();
      if (ids.length === 0) return undefined;
      const sandboxIds = ids.map((row) => row.sandbox_id);
      const means = await tx
        .selectFrom('sandbox_metrics')
        .select(['sandbox_id', 'team_id'])
        .select(({ fn }) => [
          fn.max('at').as('at'),
          fn.max('cpu_count').as('cpu_count'),
          fn.avg('cpu_used_pct').as('cpu_used_pct'),
          fn.avg('mem_used').as('mem_used'),
          fn.max('mem_total').as('mem_total'),
          fn.avg('mem_cache').as('mem_cache'),
          fn.avg('disk_used').as('disk_used'),
          fn.max('disk_total').as('disk_total'),
        ])
        .where('span_ms', '=', fromSpanMs)
        .where('at', '>=', from)
        .where('at', '<', to)
        .where('sandbox_id', 'in', sandboxIds)
        .groupBy(['sandbox_id', 'team_id'])
        .execute();
      const { numDeletedRows } = await tx
        .deleteFrom('sandbox_metrics')
        .where('span_ms', '=', fromSpanMs)
        .where('at', '>=', from)
        .where('at', '<', to)
        .where('sandbox_id', 'in', sandboxIds)
        .executeTakeFirst();
      await tx
        .insertInto('sandbox_metrics')
        .values(
          means.map((mean) => ({
            sandbox_id: mean.sandbox_id,
            team_id: mean.team_id,
            at: Number(mean.at),
            cpu_count: Number(mean.cpu_count),
            cpu_used_pct: Math.round(Number(mean.cpu_used_pct) * 100) / 100,
            mem_used: Math.round(Number(mean.mem_used)),
            mem_total: Number(mean.mem_total),
            mem_cache: Math.round(Number(mean.mem_cache)),
            disk_used: Math.round(Number(mean.disk_used)),
            disk_total: Number(mean.disk_total),
            span_ms: to - from,
          })),
        )
        .execute();
      return Number(numDeletedRows) - means.length;
    });
    if (batch === undefined) return removed;
    removed += batch;
    await otherWork();
  }
}

function floorTo(value: number, step: number): number {
  return Math.floor(value / step) * step;
}
