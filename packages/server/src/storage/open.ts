import path from 'node:path';
import { migrate } from './migrate.js';
import type { DialectName } from './migration.js';
import { openPostgres } from './postgres.js';
import type { Database } from './schema.js';
import { openSqlite } from './sqlite.js';
import { WriteWatch } from './write-watch.js';

/** Where the records are kept. */
export type StorageOptions =
  | { kind: 'sqlite' /** Default `<dataDir>/server.db`. */; file?: string }
  | { kind: 'postgres'; url: string /** Default `public`. */; schema?: string; poolSize?: number };

export interface Storage {
  db: Database;
  dialect: DialectName;
  /** Tells of this process's writes. */
  writes: WriteWatch;
}

/** Opens the store and brings its schema up to date. The caller ends it by `db.destroy()`. */
export async function openStorage(
  options: StorageOptions,
  dataDir: string,
  now: () => number,
): Promise<Storage> {
  const dialect: DialectName = options.kind;
  const writes = new WriteWatch();
  const opened =
    options.kind === 'sqlite'
      ? openSqlite(options.file ?? path.join(dataDir, 'server.db'))
      : await openPostgres(options.url, {
          ...(options.schema === undefined ? {} : { schema: options.schema }),
          ...(options.poolSize === undefined ? {} : { poolSize: options.poolSize }),
        });
  const db = opened.withPlugin(writes);
  try {
    await migrate(db, dialect, now);
  } catch (error) {
    await db.destroy();
    throw error;
  }
  return { db, dialect, writes };
}
