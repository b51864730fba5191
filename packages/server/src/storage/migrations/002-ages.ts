import type { NumberedMigration } from './migration.js';

/**
 * Samples are put together as they age: each says how long a time it stands for, 0 for one reading. And indexes by which
 * old rows are found, so that looking for them does not read whole tables.
 */
export const ages: NumberedMigration = {
  id: '002-ages',
  statements: () => [
    `alter table sandbox_metrics add column span_ms bigint not null default 0`,
    `drop index sandbox_metrics_age`,
    `create index sandbox_metrics_age on sandbox_metrics (span_ms, at)`,
    `create index log_cursors_age on log_cursors (updated_at)`,
    `create index events_age on events (dispatched, at)`,
    `create index webhook_deliveries_event on webhook_deliveries (event_seq)`,
    `create index webhook_deliveries_age on webhook_deliveries (created_at)`,
  ],
};
