import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { migrate } from '../../src/storage/migrate.js';
import { openStorage } from '../../src/storage/open.js';
import { dropSchema, testStorage } from '../support/server-storage.js';

describe('the schema', () => {
  it('is the one that is checked in, and migrating again changes nothing', async () => {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-schema-'));
    const { storage, schema } = await testStorage();
    const { db, dialect } = await openStorage(storage, dataDir, Date.now);
    try {
      const dump = async () =>
        dialect === 'sqlite'
          ? (
              await sql<{
                sql: string;
              }>`select sql from sqlite_master where sql is not null and name not like 'sqlite_%'
                order by name`.execute(db)
            ).rows.map((row) => row.sql.replaceAll(/\s+/g, ' '))
          : [
              ...(
                await sql<{
                  line: string;
                }>`select table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable
                  as line from information_schema.columns where table_schema = current_schema() order by 1`.execute(
                  db,
                )
              ).rows.map((row) => row.line),
              ...(
                await sql<{
                  line: string;
                }>`select replace(indexdef, schemaname || '.', '') as line from pg_indexes
                  where schemaname = current_schema() order by 1`.execute(db)
              ).rows.map((row) => row.line),
            ];
      const before = await dump();
      await expect(`${before.join('\n')}\n`).toMatchFileSnapshot(`../../src/storage/schema.${dialect}.txt`);
      await migrate(db, dialect, Date.now);
      expect(await dump()).toEqual(before);
    } finally {
      await db.destroy();
      await dropSchema(schema);
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});
