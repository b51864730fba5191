import { copyFile, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toApiError } from '../../src/api/http.js';
import { checkServerKey, ServerKeyError } from '../../src/storage/keys/check-key.js';
import { createKeyRing } from '../../src/storage/keys/key-ring.js';
import { openStorage, StorageError } from '../../src/storage/open.js';
import { openPostgres } from '../../src/storage/postgres.js';
import { openSqlite } from '../../src/storage/sqlite.js';
import { createTestStorage, dialects } from '../support/storage.js';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'svc-storage-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

describe('storage', () => {
  it('is no file that others can read, nor is its write-ahead log', async () => {
    const { db } = await openStorage({ kind: 'sqlite' }, directory);
    for (const name of ['server.db', 'server.db-wal'])
      expect((await stat(path.join(directory, name))).mode & 0o777, name).toBe(0o600);
    await db.destroy();
  });

  it('says that it is full when a transaction fails for that, and continues when there is room again', async () => {
    const db = openSqlite(path.join(directory, 'full.db'));
    await sql`create table notes (text text)`.execute(db);
    await sql`pragma max_page_count = 10`.execute(db);
    const fill = db.transaction().execute(async (tx) => {
      await sql`insert into notes (text) values (${'x'.repeat(200_000)})`.execute(tx);
    });
    await expect(fill).rejects.toThrow(/full/);
    await sql`pragma max_page_count = 1000`.execute(db);
    await db.transaction().execute((tx) => sql`insert into notes (text) values ('y')`.execute(tx));
    const { rows } = await sql<{ text: string }>`select text from notes`.execute(db);
    expect(rows).toEqual([{ text: 'y' }]);
    await db.destroy();
  });

  it('is whole without a write-ahead log once it is closed', async () => {
    const file = path.join(directory, 'closed.db');
    const { db } = await openStorage({ kind: 'sqlite', file }, directory);
    await sql`create table notes (text text)`.execute(db);
    await sql`insert into notes (text) values ('kept')`.execute(db);
    await db.destroy();
    const left = await stat(`${file}-wal`).catch(() => ({ size: 0 }));
    expect(left.size).toBe(0);
    const copy = path.join(directory, 'copy.db');
    await copyFile(file, copy);
    const again = openSqlite(copy);
    expect((await sql`select text from notes`.execute(again)).rows).toEqual([{ text: 'kept' }]);
    await again.destroy();
  });

  it.each(dialects)('on %s that a newer version was started on is refused by name', async (dialect) => {
    const stored = await createTestStorage(dialect);
    try {
      const { db } = await stored.open();
      await sql`insert into kysely_migration (name, timestamp) values ('999-later', '2026-01-01')`.execute(
        db,
      );
      await db.destroy();
      await expect(stored.open()).rejects.toThrow(/cannot be used: its schema is newer .*999-later, /);
    } finally {
      await stored.remove();
    }
  });

  it('says that its file is none of its own', async () => {
    const file = path.join(directory, 'other.db');
    await writeFile(file, 'something else altogether, and long enough to be looked at'.repeat(100));
    await expect(openStorage({ kind: 'sqlite', file }, directory)).rejects.toThrow(
      /^the database in the data directory cannot be used: .*not a database/,
    );
  });

  it('says which database cannot be reached, and not by which password', async () => {
    const url = 'postgres://user:geheim@127.0.0.1:1/none';
    const failure = await openStorage({ kind: 'postgres', url }, directory).catch((error: Error) => error);
    expect(failure).toBeInstanceOf(StorageError);
    expect(failure).toMatchObject({
      code: 'ECONNREFUSED',
      message: 'PostgreSQL cannot be used: connect ECONNREFUSED 127.0.0.1:1',
    });
    expect(String((failure as Error).stack)).not.toContain('geheim');
  });

  it('answers 503, to be tried again, while the database takes no connections', async () => {
    const db = await openPostgres('postgres://user:geheim@127.0.0.1:1/none');
    const failure = await sql`select 1`.execute(db).catch((error: Error) => error);
    const answer = toApiError(failure, 1);
    expect(answer).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } });
    expect(JSON.stringify(answer.toRecord())).not.toMatch(/geheim|127/);
    await db.destroy();
  });

  it('belongs to the server key that it was begun with', async () => {
    const file = path.join(directory, 'keys.db');
    const { db } = await openStorage({ kind: 'sqlite', file }, directory);
    const key = (byte: number) => createKeyRing(Buffer.alloc(32, byte));
    await checkServerKey(db, key(1));
    await checkServerKey(db, key(1));
    await expect(checkServerKey(db, key(2))).rejects.toThrow(ServerKeyError);
    await db.destroy();
  });
});
