import type { SqliteDatabase } from 'kysely';

/** Statements kept, at most. Texts with lists of varying length would fill any number of places. */
const KEPT = 300;

/**
 * Prepares each text once. Preparing costs several times what most statements cost to run; one connection runs one
 * statement at a time, so a prepared one is never in use twice.
 */
export function preparedOnce(database: SqliteDatabase): SqliteDatabase {
  const statements = new Map<string, ReturnType<SqliteDatabase['prepare']>>();
  return {
    prepare(text) {
      const known = statements.get(text);
      if (known !== undefined) return known;
      const statement = database.prepare(text);
      if (statements.size >= KEPT) statements.clear();
      statements.set(text, statement);
      return statement;
    },
    close() {
      statements.clear();
      database.close();
    },
  };
}
