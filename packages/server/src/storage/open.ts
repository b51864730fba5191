import path from 'node:path';
import type { LogEvent } from 'kysely';
import type { StorageOptions } from '../config/options.js';
import { describeCause } from './cause.js';
import { copyBefore } from './copy-before.js';
import { migrate } from './migrate.js';
import type { DialectName } from './migrations/migration.js';
import { openPostgres } from './postgres.js';
import type { Database } from './schema.js';
import { openSqlite } from './sqlite.js';
import { WriteWatch } from './write-watch.js';

export interface Storage {
  db: Database;
  dialect: DialectName;
  /** Tells of this process's writes. */
  writes: WriteWatch;
  /** Steps by which a database of an earlier version was brought up to date. */
  migrated: string[];
}

/** The store cannot be opened, or not be brought up to date. Its text says why, and holds no password. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
  /** What the database or the system says, such as `ECONNREFUSED`, `28P01`, `SQLITE_FULL`. */
  readonly code: string | undefined;

  constructor(dialect: DialectName, cause: unknown) {
    const { text, code } = describeCause(cause);
    const what = dialect === 'postgres' ? 'PostgreSQL' : 'the database in the data directory';
    super(`${what} cannot be used: ${text}`, { cause });
    this.code = code;
  }
}

/** Told of each statement when it has ended. */
export type QueryLog = (event: LogEvent) => void;

/** Opens the store and brings its schema up to date. The caller ends it by `db.destroy()`. @throws {StorageError} */
export async function openStorage(
  options: StorageOptions,
  dataDir: string,
  onQuery?: QueryLog,
): Promise<Storage> {
  const dialect: DialectName = options.kind;
  const writes = new WriteWatch();
  const opened = await open(options, dataDir, onQuery).catch((error: unknown) => {
    throw new StorageError(dialect, error);
  });
  const db = opened.withPlugin(writes);
  let migrated: string[];
  try {
    const prepare = (missing: readonly string[]) => copyBefore(db, sqliteFile(options, dataDir), missing);
    migrated = await migrate(db, dialect, undefined, prepare);
  } catch (error) {
    await db.destroy().catch(() => {});
    throw new StorageError(dialect, error);
  }
  return { db, dialect, writes, migrated };
}

function sqliteFile(options: StorageOptions, dataDir: string): string | undefined {
  return options.kind === 'sqlite' ? (options.file ?? path.join(dataDir, 'server.db')) : undefined;
}

async function open(
  options: StorageOptions,
  dataDir: string,
  onQuery: QueryLog | undefined,
): Promise<Database> {
  if (options.kind === 'sqlite') return openSqlite(sqliteFile(options, dataDir)!, onQuery);
  const { schema, poolSize } = options;
  return openPostgres(options.url, {
    ...(schema === undefined ? {} : { schema }),
    ...(poolSize === undefined ? {} : { poolSize }),
    ...(onQuery === undefined ? {} : { onQuery }),
  });
}
