import { open as openFile, readdir, rename, rm } from 'node:fs/promises';
import path, { basename, dirname, join } from 'node:path';
import { type LogEvent, sql } from 'kysely';
import type { StorageOptions } from '../config/options.js';
import { describeCause } from './database-errors.js';
import { migrate } from './migrate.js';
import type { DialectName } from './migrations/migration.js';
import { openPostgres } from './postgres.js';
import type { Database } from './schema.js';
import { openSqlite } from './sqlite.js';
import { WriteWatch } from './write-watch.js';

export interface Storage {
  db: Database;
  dialect: DialectName;
  /** Reports this process's writes. */
  writes: WriteWatch;
  /** Steps by which a database of an earlier version was brought up to date. */
  migrated: string[];
}

/** The store cannot be opened, or not be brought up to date. Its text says why, and holds no password. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
  /** The code of the database or the system, such as `ECONNREFUSED`, `28P01`, `SQLITE_FULL`. */
  readonly code: string | undefined;

  constructor(dialect: DialectName, cause: unknown) {
    const { text, code } = describeCause(cause);
    const what = dialect === 'postgres' ? 'PostgreSQL' : 'the database in the data directory';
    super(`${what} cannot be used: ${text}`, { cause });
    this.code = code;
  }
}

/** Receives each statement when it has ended. */
type QueryLog = (event: LogEvent) => void;

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

const MARK = '.before-';

/**
 * Copies a database before its schema is changed, as `server.db.before-<first missing step>`, so that the version before can have
 * it back; copies before earlier changes go. PostgreSQL has no file, and its operator `pg_dump`.
 */
async function copyBefore(db: Database, file: string | undefined, missing: readonly string[]): Promise<void> {
  if (file === undefined || file === ':memory:') return;
  const copy = `${file}${MARK}${missing[0]}`;
  const draft = `${copy}.part`;
  await rm(draft, { force: true });
  // Made here for its mode: it contains what the database does.
  await (await openFile(draft, 'wx', 0o600)).close();
  try {
    await sql`vacuum into ${draft}`.execute(db);
    await rename(draft, copy);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  for (const name of await readdir(dirname(file))) {
    const path = join(dirname(file), name);
    if (name.startsWith(`${basename(file)}${MARK}`) && path !== copy) await rm(path, { force: true });
  }
}

/**
 * Describes why the database does not answer, in its words or the system's; they hold no password. Undefined: it answers.
 * @param timeoutMs Longest that it may take. Default 1000.
 */
export async function databaseProblem(db: Database, timeoutMs = 1_000): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer within ${timeoutMs} ms`), timeoutMs);
  });
  const asked = sql`select 1`.execute(db).then(
    () => undefined,
    (error: unknown) => describeCause(error).text,
  );
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}
