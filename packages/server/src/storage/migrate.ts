import { sql } from 'kysely';
import { migrations } from './migrations/index.js';
import type { DialectName, Migration } from './migrations/migration.js';
import type { Database, Tx } from './schema.js';

/** One number for the advisory lock that keeps starting processes from doing the same side by side. */
const START_LOCK = 7_420_311;

/** The database was brought up to date by a newer version, whose schema this one does not know. */
export class NewerSchemaError extends Error {
  override readonly name = 'NewerSchemaError';

  constructor(unknown: readonly string[], latest: string) {
    super(
      `its schema is newer than this version of the server: it has ${unknown.join(', ')}, and this version knows no step after ${latest}; start the newer version, or put back a copy of the data from before`,
    );
  }
}

/** Brings the schema up to date. Each step and the row that records it are one transaction; the row comes first. @throws {NewerSchemaError} */
export async function migrate(
  db: Database,
  dialect: DialectName,
  now: () => number,
  steps: readonly Migration[] = migrations,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await lockStart(tx, dialect);
    await sql`create table if not exists migrations (id text primary key, applied_at bigint not null)`.execute(
      tx,
    );
    const applied = await sql<{ id: string }>`select id from migrations order by id`.execute(tx);
    const unknown = applied.rows.map((row) => row.id).filter((id) => !steps.some((step) => step.id === id));
    if (unknown.length > 0) throw new NewerSchemaError(unknown, steps.at(-1)?.id ?? 'none');
  });
  for (const step of steps) {
    await db.transaction().execute(async (tx) => {
      await lockStart(tx, dialect);
      const done = await sql<{ id: string }>`select id from migrations where id = ${step.id}`.execute(tx);
      if (done.rows.length > 0) return;
      await sql`insert into migrations (id, applied_at) values (${step.id}, ${now()})`.execute(tx);
      for (const statement of step.statements(dialect)) await sql.raw(statement).execute(tx);
    });
  }
}

/** Keeps other starting servers waiting until the end of the transaction. */
export async function lockStart(tx: Tx, dialect: DialectName): Promise<void> {
  if (dialect === 'postgres') await sql`select pg_advisory_xact_lock(${START_LOCK})`.execute(tx);
}
