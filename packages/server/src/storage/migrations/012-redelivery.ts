import type { NumberedMigration } from './migration.js';

/** Deliveries can be asked for again: when that was, and how many attempts had been made by then. */
export const redelivery: NumberedMigration = {
  id: '012-redelivery',
  statements: () => [
    'alter table webhook_deliveries add column redelivered_at bigint',
    'alter table webhook_deliveries add column earlier_attempts bigint not null default 0',
  ],
};
