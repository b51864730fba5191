import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkServerKey } from '../../src/storage/keys/check-key.js';
import { createKeyRing } from '../../src/storage/keys/key-ring.js';
import { migrations } from '../../src/storage/migrations/index.js';
import { openStorage } from '../../src/storage/open.js';
import type { Database } from '../../src/storage/schema.js';
import { openSqlite } from '../../src/storage/sqlite.js';
import { dialect } from '../support/server-storage.js';

/** Of the server that made the database. */
const KEY = '2255a14ba0a3bc2075e100110173d6ae7117344cc7871ec72a8cd8dcaad4ae0c';
/** Steps that it had. */
const RELEASED = 4;
const copyName = `server.db.before-${migrations[RELEASED]?.id}`;

const stepsOf = async (db: Database) =>
  (await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db)).rows.map(
    ({ name }) => name,
  );

/** Columns by table, however they came about. */
async function columnsOf(db: Database): Promise<string[]> {
  const { rows } = await sql<{ column: string }>`
    select tables.name || '.' || columns.name || ' ' || columns.type || ' ' || columns."notnull" as column
    from sqlite_master as tables, pragma_table_info(tables.name) as columns
    where tables.type = 'table' order by 1`.execute(db);
  return rows.map(({ column }) => column);
}

describe.skipIf(dialect !== 'sqlite')('a database of the release 0.1.0', () => {
  let dataDir: string;
  let file: string;

  beforeEach(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'svc-upgrade-'));
    file = path.join(dataDir, 'server.db');
    const Libsql = createRequire(import.meta.url)('libsql') as new (
      path: string,
    ) => { exec(text: string): void; close(): void };
    const database = new Libsql(file);
    // Tables come in the order of their names.
    database.exec('pragma foreign_keys = off');
    database.exec(await readFile(new URL('fixtures/release-0.1.0.sql', import.meta.url), 'utf8'));
    database.close();
  });
  afterEach(() => rm(dataDir, { recursive: true, force: true }));

  it('gets this schema, keeps its records, and is copied before', async () => {
    await writeFile(path.join(dataDir, 'server.db.before-002-ages'), 'of an earlier upgrade');
    const { db, migrated } = await openStorage({ kind: 'sqlite' }, dataDir);
    const fresh = await openStorage({ kind: 'sqlite', file: path.join(dataDir, 'fresh.db') }, dataDir);
    try {
      expect(migrated).toEqual(migrations.slice(RELEASED).map(({ id }) => id));
      expect(fresh.migrated).toEqual([]);
      expect(await columnsOf(db)).toEqual(await columnsOf(fresh.db));
      const keys = createKeyRing(Buffer.from(KEY, 'hex'));
      await checkServerKey(db, keys);
      const sandboxes = await db.selectFrom('sandboxes').select(['state', 'checkpoint_id']).execute();
      expect(sandboxes.map(({ state }) => state).sort()).toEqual(['paused', 'paused', 'running']);
      const running = await db.selectFrom('team_running').select('sandboxes').execute();
      expect(running).toEqual([{ sandboxes: 1 }]);
      const secret = await db.selectFrom('secret_versions').selectAll().executeTakeFirstOrThrow();
      expect(keys.decrypt(`secret:${secret.secret_id}:1`, secret.encrypted_value).trim()).toBe('sesame');
      expect(await db.selectFrom('volumes').select('name').execute()).toEqual([{ name: 'vol1' }]);
    } finally {
      await db.destroy();
      await fresh.db.destroy();
    }
    expect((await readdir(dataDir)).filter((name) => name.includes('before'))).toEqual([copyName]);
    expect((await stat(path.join(dataDir, copyName))).mode & 0o777).toBe(0o600);
    const copy = openSqlite(path.join(dataDir, copyName));
    expect(await stepsOf(copy)).toHaveLength(RELEASED);
    await copy.destroy();
    const again = await openStorage({ kind: 'sqlite' }, dataDir);
    expect(again.migrated).toEqual([]);
    await again.db.destroy();
  });

  it('stays as it is where no copy can be made', async () => {
    await mkdir(path.join(dataDir, `${copyName}.part`));
    await expect(openStorage({ kind: 'sqlite' }, dataDir)).rejects.toThrow('cannot be used');
    const db = openSqlite(file);
    expect(await stepsOf(db)).toHaveLength(RELEASED);
    await db.destroy();
  });
});
