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
      const prepared = database.prepare(text);
      const statement = text === 'rollback' ? forgiving(prepared) : prepared;
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

/**
 * SQLite itself rolls back when the disk is full, and then refuses to do it again: that refusal would hide from the
 * caller why the transaction failed.
 */
function forgiving(rollback: ReturnType<SqliteDatabase['prepare']>): ReturnType<SqliteDatabase['prepare']> {
  return {
    reader: rollback.reader,
    all: (parameters) => rollback.all(parameters),
    iterate: (parameters) => rollback.iterate(parameters),
    run(parameters) {
      try {
        return rollback.run(parameters);
      } catch (error) {
        if (!/no transaction is active/.test((error as Error).message)) throw error;
        return { changes: 0, lastInsertRowid: 0 };
      }
    },
  };
}
