import { closeSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Kysely, type LogEvent, SqliteAdapter, type SqliteDatabase, SqliteDialect } from 'kysely';
import { preparedOnce } from './prepared.js';
import type { Schema } from './schema.js';

/** The part of the binding that is used: the synchronous interface that several SQLite packages share. */
interface Binding {
  new (
    path: string,
    options?: { timeout?: number },
  ): SqliteDatabase & { exec(text: string): void; pragma(text: string): unknown; close(): void };
}

/**
 * Opens an SQLite file through `libsql`, whose prebuilt binaries come with npm. The only file that knows the binding.
 *
 * Made with mode 0600, which its write-ahead log takes over: it contains the output of sandboxes.
 * Write-ahead log, so that a copy taken by `sqlite3 .backup` while the server runs is whole.
 * `synchronous = normal` survives the death of the process; only a power cut may take the last transactions.
 */
export function openSqlite(path: string, onQuery?: (event: LogEvent) => void): Kysely<Schema> {
  const Libsql = createRequire(import.meta.url)('libsql') as Binding;
  if (path !== ':memory:') closeSync(openSync(path, 'a', 0o600));
  const database = new Libsql(path);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = NORMAL');
  database.pragma('busy_timeout = 10000');
  database.pragma('foreign_keys = ON');
  const prepared = preparedOnce(database);
  const closing: SqliteDatabase = {
    prepare: (text) => prepared.prepare(text),
    close() {
      // The file alone is then the whole database: a copy of it misses nothing.
      try {
        database.pragma('wal_checkpoint(TRUNCATE)');
      } finally {
        prepared.close();
      }
    },
  };
  return new Kysely<Schema>({
    dialect: new TransactionalDialect({ database: closing }),
    ...(onQuery === undefined ? {} : { log: onQuery }),
  });
}

/** Kysely does not count on it, but SQLite undoes changes of the schema too: a migration is applied whole or not at all. */
class TransactionalDialect extends SqliteDialect {
  override createAdapter(): SqliteAdapter {
    return new (class extends SqliteAdapter {
      override get supportsTransactionalDdl(): boolean {
        return true;
      }
    })();
  }
}
