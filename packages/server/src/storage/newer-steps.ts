import { DEFAULT_MIGRATION_TABLE, sql } from 'kysely';
import { migrations } from './migrations/index.js';
import type { Database } from './schema.js';

/** Steps of the schema that this version does not know: a newer server has migrated the database under it. */
export async function newerSteps(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from ${sql.table(DEFAULT_MIGRATION_TABLE)} order by name`.execute(db);
  return rows.map(({ name }) => name).filter((name) => !migrations.some(({ id }) => id === name));
}
