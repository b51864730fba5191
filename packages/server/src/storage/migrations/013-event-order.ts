import type { NumberedMigration } from './migration.js';

/** First of the two numbers of the advisory lock; the other one is the hash of the schema and a sandbox's id. */
const LOCK_CLASS = 7_420_312;

/**
 * Events of one sandbox are numbered in the order in which they are committed: their transactions take their numbers one
 * after the other, whichever servers they come from. A number that was given by the default of the column is dropped, as the
 * default is computed before the lock is there. SQLite has one writer, whose events are in that order anyway.
 */
export const eventOrder: NumberedMigration = {
  id: '013-event-order',
  statements: (dialect) =>
    dialect === 'sqlite'
      ? []
      : [
          `create function events_number() returns trigger language plpgsql set search_path from current as $$ begin
            perform pg_advisory_xact_lock(${LOCK_CLASS}, hashtext(tg_table_schema || new.sandbox_id));
            new.seq := nextval('events_seq_seq');
            return new;
          end $$`,
          `create trigger events_number before insert on events for each row execute function events_number()`,
        ],
};
