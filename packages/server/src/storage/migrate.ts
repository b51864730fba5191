import { sql } from 'kysely';
import type { DialectName, Migration } from './migration.js';
import { migrations } from './migrations/index.js';
import type { Database, Tx } from './schema.js';

/** One number for the advisory lock that keeps two starting processes from migrating side by side. */
const MIGRATION_LOCK = 7_420_311;

/** Brings the schema up to date. Each step and the row that records it are one transaction; the row comes first. */
export async function migrate(
  db: Database,
  dialect: DialectName,
  now: () => number,
  steps: readonly Migration[] = migrations,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await lock(tx, dialect);
    await sql`create table if not exists migrations (id text primary key, applied_at bigint not null)`.execute(
      tx,
    );
  });
  for (const step of steps) {
    await db.transaction().execute(async (tx) => {
      await lock(tx, dialect);
      const done = await sql<{ id: string }>`select id from migrations where id = ${step.id}`.execute(tx);
      if (done.rows.length > 0) return;
      await sql`insert into migrations (id, applied_at) values (${step.id}, ${now()})`.execute(tx);
      for (const statement of step.statements(dialect)) await sql.raw(statement).execute(tx);
    });
  }
}

async function lock(tx: Tx, dialect: DialectName): Promise<void> {
  if (dialect === 'postgres') await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(tx);
}
