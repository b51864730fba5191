import type { NumberedMigration } from './migration.js';

/** Nodes have an epoch for each start, can be drained, and report their load. */
export const nodes: NumberedMigration = {
  id: '006-nodes',
  statements: () => [
    'alter table nodes add column epoch bigint not null default 0',
    "alter table nodes add column drain text not null default 'no'",
    "alter table nodes add column report text not null default '{}'",
  ],
};
