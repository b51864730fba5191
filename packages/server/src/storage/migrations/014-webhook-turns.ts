import type { DialectName, NumberedMigration } from './migration.js';

/**
 * Deliveries say whether they wait for an earlier one of their webhook and sandbox, so that those whose turn it is are found
 * by index, however many wait behind them. Triggers keep it, whichever version of the server writes.
 *
 * On PostgreSQL a new delivery locks the one that it waits for until its transaction ends: should that one be ending, either the
 * new one sees that it has ended, or its end sees the new one.
 */
export const webhookTurns: NumberedMigration = {
  id: '014-webhook-turns',
  statements: (dialect) => [
    'alter table webhook_deliveries add column waits bigint not null default 0',
    'drop index webhook_deliveries_order',
    'drop index webhook_deliveries_due',
    `create index webhook_deliveries_order on webhook_deliveries (webhook_id, sandbox_id, event_seq)
      where status = 'pending'`,
    `create index webhook_deliveries_turn on webhook_deliveries (webhook_id, next_attempt_at, event_seq)
      where status = 'pending' and waits = 0`,
    ...triggers(dialect),
    `update webhook_deliveries set waits = 1 where ${open('webhook_deliveries')} and ${behind('webhook_deliveries')}`,
  ],
};

const open = (row: string) => `${row}.status = 'pending' and ${row}.redelivered_at is null`;

const before = (
  row: string,
) => `earlier.webhook_id = ${row}.webhook_id and earlier.sandbox_id = ${row}.sandbox_id
  and earlier.event_seq < ${row}.event_seq and ${open('earlier')}`;

const behind = (row: string) => `exists (select 1 from webhook_deliveries as earlier where ${before(row)})`;

/** The first delivery ended: the next one is due. */
const PROMOTE = `update webhook_deliveries set waits = 0 where waits = 1 and id = (
  select next.id from webhook_deliveries as next
  where next.webhook_id = old.webhook_id and next.sandbox_id = old.sandbox_id and ${open('next')}
  order by next.event_seq limit 1)`;
const WAS_FIRST = `${open('old')} and old.waits = 0`;
const ENDED = `${WAS_FIRST} and not (${open('new')})`;

const triggers = (dialect: DialectName) => (dialect === 'postgres' ? postgresTriggers() : sqliteTriggers());

function sqliteTriggers(): string[] {
  const trigger = (name: string, event: string, when: string, work: string) =>
    `create trigger webhook_deliveries_${name} after ${event} on webhook_deliveries when ${when} begin ${work}; end`;
  return [
    trigger(
      'wait',
      'insert',
      `${open('new')} and ${behind('new')}`,
      'update webhook_deliveries set waits = 1 where id = new.id',
    ),
    trigger('end', 'update of status, redelivered_at', ENDED, PROMOTE),
    trigger('delete', 'delete', WAS_FIRST, PROMOTE),
  ];
}

function postgresTriggers(): string[] {
  const body = (name: string, work: string) =>
    `create function webhook_deliveries_${name}() returns trigger language plpgsql set search_path from current
      as $$ begin ${work} end $$`;
  const trigger = (name: string, event: string, when: string, work: string) =>
    `create trigger webhook_deliveries_${name} ${event} on webhook_deliveries for each row when (${when})
      execute function webhook_deliveries_${work}()`;
  return [
    body(
      'wait',
      `perform 1 from webhook_deliveries as earlier where ${before('new')}
        order by earlier.event_seq desc limit 1 for share;
      if found then new.waits := 1; end if; return new;`,
    ),
    body('promote', `${PROMOTE}; return null;`),
    trigger('wait', 'before insert', open('new'), 'wait'),
    trigger('end', 'after update of status, redelivered_at', ENDED, 'promote'),
    trigger('delete', 'after delete', WAS_FIRST, 'promote'),
  ];
}
