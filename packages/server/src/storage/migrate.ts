import { DEFAULT_MIGRATION_TABLE, type Migration, Migrator, NO_MIGRATIONS, sql } from 'kysely';
import { migrations } from './migrations/index.js';
import type { DialectName, NumberedMigration } from './migrations/migration.js';
import type { Database, Tx } from './schema.js';

/** One number for the advisory lock that keeps starting processes from doing the same side by side. */
const START_LOCK = 7_420_311;

/** The database was brought up to date by a newer version, whose schema this one does not know. */
class NewerSchemaError extends Error {
  override readonly name = 'NewerSchemaError';

  constructor(unknown: readonly string[], latest: string) {
    super(
      `its schema is newer than this version of the server: it has ${unknown.join(', ')}, and this version knows no step after ${latest}; start the newer version, or put back a copy of the data from before`,
    );
  }
}

/** The table in which earlier versions recorded the applied steps. */
const OLD_RECORD = 'migrations';

/**
 * Brings the schema up to date: all missing steps in one transaction.
 * @param steps the step to stop at is the last. For tests.
 * @param prepare receives the missing steps of a database that has some, before anything is changed
 * @returns the steps that were applied to a database that had some
 * @throws {NewerSchemaError}
 */
export async function migrate(
  db: Database,
  dialect: DialectName,
  steps: readonly NumberedMigration[] = migrations,
  prepare: (missing: readonly string[]) => Promise<void> = async () => undefined,
): Promise<string[]> {
  const migrator = new Migrator({
    db,
    provider: {
      getMigrations: async () => Object.fromEntries(steps.map((step) => [step.id, asKysely(step, dialect)])),
    },
  });
  await takeOverRecord(db, dialect, steps, migrator);
  const applied = (await exists(db, dialect, DEFAULT_MIGRATION_TABLE))
    ? await sql<{ id: string }>`select name as id from ${sql.table(DEFAULT_MIGRATION_TABLE)}`.execute(db)
    : { rows: [] };
  assertKnown(applied.rows, steps);
  if (applied.rows.length === steps.length) return [];
  const known = new Set(applied.rows.map(({ id }) => id));
  const missing = known.size === 0 ? [] : steps.map(({ id }) => id).filter((id) => !known.has(id));
  if (missing.length > 0) await prepare(missing);
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
  return missing;
}

function asKysely(step: NumberedMigration, dialect: DialectName): Migration {
  return {
    async up(db) {
      for (const statement of step.statements(dialect)) await sql.raw(statement).execute(db);
    },
  };
}

function assertKnown(applied: readonly { id: string }[], steps: readonly NumberedMigration[]): void {
  const unknown = applied.map(({ id }) => id).filter((id) => !steps.some((step) => step.id === id));
  if (unknown.length > 0) throw new NewerSchemaError(unknown.sort(), steps.at(-1)?.id ?? 'none');
}

/** Databases of earlier versions have a record of their own: it is copied into the Migrator's and removed. */
async function takeOverRecord(
  db: Database,
  dialect: DialectName,
  steps: readonly NumberedMigration[],
  migrator: Migrator,
): Promise<void> {
  if (!(await exists(db, dialect, OLD_RECORD))) return;
  // Makes the tables of the Migrator and applies nothing.
  const { error } = await migrator.migrateTo(NO_MIGRATIONS);
  if (error !== undefined) throw error;
  await db.transaction().execute(async (tx) => {
    await lockStart(tx, dialect);
    if (!(await exists(tx, dialect, OLD_RECORD))) return;
    const old = await sql<{
      id: string;
      applied_at: number;
    }>`select id, applied_at from ${sql.table(OLD_RECORD)}`.execute(tx);
    assertKnown(old.rows, steps);
    for (const { id, applied_at } of old.rows)
      await sql`insert into ${sql.table(DEFAULT_MIGRATION_TABLE)} (name, timestamp) values (${id}, ${new Date(Number(applied_at)).toISOString()})`.execute(
        tx,
      );
    await sql`drop table ${sql.table(OLD_RECORD)}`.execute(tx);
  });
}

async function exists(db: Database | Tx, dialect: DialectName, table: string): Promise<boolean> {
  const query =
    dialect === 'postgres'
      ? sql`select 1 where to_regclass(${table}) is not null`
      : sql`select 1 from sqlite_master where type = 'table' and name = ${table}`;
  return (await query.execute(db)).rows.length > 0;
}

/** Keeps other starting servers waiting until the end of the transaction. */
export async function lockStart(tx: Tx, dialect: DialectName): Promise<void> {
  if (dialect === 'postgres') await sql`select pg_advisory_xact_lock(${START_LOCK})`.execute(tx);
}

/** Steps of the schema that this version does not know: a newer server has migrated the database under it. */
export async function newerSteps(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from ${sql.table(DEFAULT_MIGRATION_TABLE)} order by name`.execute(db);
  return rows.map(({ name }) => name).filter((name) => !migrations.some(({ id }) => id === name));
}

/** Steps of the schema that this version of the server knows, in the order in which they apply. */
export const schemaSteps: readonly string[] = migrations.map(({ id }) => id);
