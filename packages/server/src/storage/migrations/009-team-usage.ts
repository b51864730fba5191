import type { NumberedMigration } from './migration.js';

/** The use of each team in each hour, added up by every server of the database. */
export const teamUsage: NumberedMigration = {
  id: '009-team-usage',
  statements: () => [
    `create table team_usage (
      team_id text not null,
      hour bigint not null,
      sandbox_ms bigint not null,
      memory_mib_ms bigint not null,
      egress_bytes bigint not null,
      creates bigint not null,
      primary key (team_id, hour)
    )`,
    'create index team_usage_age on team_usage (hour)',
  ],
};
