import type { DialectName, NumberedMigration } from './migration.js';

/**
 * The number of running sandboxes of each team, and their memory, kept by triggers: exact with any writer, servers of earlier versions
 * that run on the same database among them.
 *
 * The triggers come before the first count: PostgreSQL lets nobody write sandboxes from then until the step is through.
 */
export const teamRunning: NumberedMigration = {
  id: '010-team-running',
  statements: (dialect) => [
    `create table team_running (
      team_id text primary key,
      sandboxes bigint not null,
      memory_mb bigint not null
    )`,
    ...triggers(dialect),
    `insert into team_running (team_id, sandboxes, memory_mb)
      select team_id, count(*), sum(memory_mb) from sandboxes where ${runs('sandboxes')} group by team_id`,
  ],
};

const runs = (row: 'new' | 'old' | 'sandboxes') =>
  `${row}.state in ('creating', 'running', 'pausing', 'snapshotting', 'resuming')`;

const UNCHANGED = `(${runs('old')} and ${runs('new')} and old.team_id = new.team_id and old.memory_mb = new.memory_mb)`;
const BEGINS = `${runs('new')} and not ${UNCHANGED}`;
const ENDS = `${runs('old')} and not ${UNCHANGED}`;

const ADD = `insert into team_running (team_id, sandboxes, memory_mb) values (new.team_id, 1, new.memory_mb)
  on conflict (team_id) do update set
    sandboxes = team_running.sandboxes + 1, memory_mb = team_running.memory_mb + excluded.memory_mb`;
const SUBTRACT = `update team_running set sandboxes = sandboxes - 1, memory_mb = memory_mb - old.memory_mb
  where team_id = old.team_id`;

const triggers = (dialect: DialectName) => (dialect === 'postgres' ? postgresTriggers() : sqliteTriggers());

function sqliteTriggers(): string[] {
  const trigger = (name: string, event: string, when: string, work: string) =>
    `create trigger ${name} after ${event} on sandboxes when ${when} begin ${work}; end`;
  return [
    trigger('team_running_insert', 'insert', runs('new'), ADD),
    trigger('team_running_end', 'update of team_id, state, memory_mb', ENDS, SUBTRACT),
    trigger('team_running_begin', 'update of team_id, state, memory_mb', BEGINS, ADD),
    trigger('team_running_delete', 'delete', runs('old'), SUBTRACT),
  ];
}

/**
 * An addition counts at once, as its transaction checks the limit; the row of the team is locked from there to the
 * end of the transaction. What is subtracted counts at the commit alone, so that an end keeps nobody waiting.
 * The advisory lock is the one that servers of earlier versions take before they count: they see what is added here.
 */
function postgresTriggers(): string[] {
  const body = (name: string, work: string) =>
    `create function ${name}() returns trigger language plpgsql set search_path from current
      as $$ begin ${work}; return null; end $$`;
  const trigger = (name: string, event: string, when: string) =>
    `create trigger ${name} after ${event} on sandboxes for each row when (${when})
      execute function team_running_add()`;
  const deferred = (name: string, event: string, when: string) =>
    `create constraint trigger ${name} after ${event} on sandboxes deferrable initially deferred
      for each row when (${when}) execute function team_running_subtract()`;
  return [
    body('team_running_add', `perform pg_advisory_xact_lock(hashtext(new.team_id)); ${ADD}`),
    body('team_running_subtract', SUBTRACT),
    trigger('team_running_insert', 'insert', runs('new')),
    trigger('team_running_begin', 'update of team_id, state, memory_mb', BEGINS),
    deferred('team_running_end', 'update of team_id, state, memory_mb', ENDS),
    deferred('team_running_delete', 'delete', runs('old')),
  ];
}
