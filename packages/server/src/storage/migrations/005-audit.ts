import type { NumberedMigration } from './migration.js';

/**
 * The audit trail. The identifier begins with its time, so that one index serves order, pages, spans of time and removal by age;
 * it is compared byte by byte in every language that PostgreSQL may be set to.
 */
export const audit: NumberedMigration = {
  id: '005-audit',
  statements: (dialect) => [
    `create table audit_entries (
      id text ${dialect === 'postgres' ? 'collate "C" ' : ''}primary key,
      at bigint not null,
      actor_kind text not null,
      actor_id text,
      operation text not null,
      resource_kind text,
      resource_id text,
      team_id text,
      status bigint,
      finished_at bigint,
      request_id text,
      client_address text,
      node_id text not null
    )`,
    'create index audit_entries_team on audit_entries (team_id, id)',
    'create index audit_entries_resource on audit_entries (resource_id, id)',
  ],
};
