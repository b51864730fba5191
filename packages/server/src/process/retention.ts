import { sql } from 'kysely';
import { leastEntryId } from '../api/audit/entry.js';
import { METRIC_TIERS } from '../sandboxes/telemetry/compact-metrics.js';
import { deleteInBatches } from '../storage/delete-in-batches.js';
import { pruneEvents } from '../webhooks/delivery/queue.js';
import type { Uses } from './context.js';

type Context = Uses<'config' | 'db' | 'dialect' | 'now'>;

/** Removes logs, metrics, events, entries of the audit trail, hours of use and idempotency records that are too old, a few at a time. */
export async function forgetOld(context: Context): Promise<void> {
  const now = context.now();
  const { audit, logs, metrics, events, idempotency, usage } = context.config;
  await deleteInBatches(context, 'sandbox_logs', sql`at < ${now - logs.retentionMs}`);
  for (const spanMs of [0, ...METRIC_TIERS.map((tier) => tier.spanMs)])
    await deleteInBatches(
      context,
      'sandbox_metrics',
      sql`span_ms = ${spanMs} and at < ${now - metrics.retentionMs}`,
    );
  await deleteInBatches(
    context,
    'log_cursors',
    sql`updated_at < ${now - logs.retentionMs} and sandbox_id not in (select id from sandboxes)`,
  );
  await deleteInBatches(context, 'audit_entries', sql`id < ${leastEntryId(now - audit.retentionMs)}`);
  await deleteInBatches(context, 'team_usage', sql`hour < ${now - usage.retentionMs}`);
  await pruneEvents(context, now - events.retentionMs);
  await deleteInBatches(context, 'idempotency', sql`created_at < ${now - idempotency.retentionMs}`);
}
