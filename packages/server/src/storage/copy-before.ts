import { open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { sql } from 'kysely';
import type { Database } from './schema.js';

const MARK = '.before-';

/**
 * Copies a database before its schema is changed, as `server.db.before-<first missing step>`, so that the version before can have
 * it back; copies before earlier changes go. PostgreSQL has no file, and its operator `pg_dump`.
 */
export async function copyBefore(
  db: Database,
  file: string | undefined,
  missing: readonly string[],
): Promise<void> {
  if (file === undefined || file === ':memory:') return;
  const copy = `${file}${MARK}${missing[0]}`;
  const draft = `${copy}.part`;
  await rm(draft, { force: true });
  // Made here for its mode: it holds what the database does.
  await (await open(draft, 'wx', 0o600)).close();
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
