import { type RawBuilder, sql } from 'kysely';
import type { DialectName } from './migrations/migration.js';
import type { Database, Schema } from './schema.js';

/** Rows that one statement removes: SQLite runs it on the server's only thread, some milliseconds long. */
const BATCH = 200;

/**
 * Removes rows, a few at a time, with other work in between: a whole hour of them at once would block every request.
 * @param where what the rows have in common; an index should find them
 * @returns how many there were
 */
export async function deleteInBatches(
  { db, dialect }: { db: Database; dialect: DialectName },
  table: keyof Schema & string,
  where: RawBuilder<unknown>,
): Promise<number> {
  const row = sql.raw(dialect === 'postgres' ? 'ctid' : 'rowid');
  let removed = 0;
  for (;;) {
    const result = await sql`delete from ${sql.table(table)} where ${row} in (
      select ${row} from ${sql.table(table)} where ${where} limit ${sql.lit(BATCH)})`.execute(db);
    const count = Number(result.numAffectedRows ?? 0);
    removed += count;
    if (count < BATCH) return removed;
    await otherWork();
  }
}

/** Lets everything that waits for the thread run first. */
export function otherWork(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
