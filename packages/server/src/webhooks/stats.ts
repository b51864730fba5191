import type { components } from '@svc/platform';
import { sql } from 'kysely';
import { errors } from '../api/errors/catalog.js';
import { isoTime } from '../api/wire/time.js';
import type { Database } from '../storage/schema.js';
import { findWebhook } from './records.js';

type Stats = components['schemas']['WebhookStats'];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MAX_RANGE_MS = 366 * DAY_MS;
const MAX_BUCKETS = 48;

/** Length of the pieces of a time span: whole hours, so that there are at most 48. */
export function bucketLength(rangeMs: number): number {
  return Math.max(1, Math.ceil(rangeMs / HOUR_MS / MAX_BUCKETS)) * HOUR_MS;
}

/** @throws {ApiError} 400 for a span that ends before it starts or is longer than 366 days, 404 */
export async function webhookStats(
  context: { db: Database; now(): number },
  teamId: string,
  webhookId: string,
  query: { start?: string | undefined; end?: string | undefined },
): Promise<Stats> {
  const { id } = await findWebhook(context.db, teamId, webhookId);
  const end = query.end === undefined ? context.now() : Date.parse(query.end);
  const start = query.start === undefined ? end - DAY_MS : Date.parse(query.start);
  if (start > end) throw errors.badRequest('start: must not be after end');
  if (end - start > MAX_RANGE_MS) throw errors.badRequest('start: at most 366 days before end');
  const length = bucketLength(end - start);

  const buckets: Stats['buckets'] = [];
  for (let from = start; from < end; from += length)
    buckets.push({ start: isoTime(from), end: isoTime(Math.min(from + length, end)), ...zero() });
  const totals = zero();
  // Counting happens in the database, one row for each piece and status.
  const rows = await context.db
    .selectFrom('webhook_deliveries')
    .select((select) => [
      sql<number>`cast((created_at - ${start}) / ${length} as bigint)`.as('piece'),
      'status',
      select.fn.countAll<number>().as('deliveries'),
      select.fn.sum<number>('attempts').as('attempts'),
    ])
    .where('webhook_id', '=', id)
    .where('created_at', '>=', start)
    .where('created_at', '<', end)
    .groupBy(['piece', 'status'])
    .execute();
  for (const row of rows) {
    const bucket = buckets[Number(row.piece)];
    for (const counts of bucket === undefined ? [totals] : [totals, bucket]) {
      counts.deliveries += Number(row.deliveries);
      counts.attempts += Number(row.attempts);
      if (row.status === 'success') counts.succeeded += Number(row.deliveries);
      if (row.status === 'failed') counts.failed += Number(row.deliveries);
    }
  }
  return { start: isoTime(start), end: isoTime(end), totals, buckets };
}

const zero = () => ({ deliveries: 0, succeeded: 0, failed: 0, attempts: 0 });
