import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import type { StorageOptions } from '../../src/config/options.js';
import { openStorage, type Storage } from '../../src/storage/open.js';

export type Dialect = 'sqlite' | 'postgres';

/** PostgreSQL runs where SVC_TEST_POSTGRES_URL names one; the gate starts one. */
export const postgresUrl = process.env.SVC_TEST_POSTGRES_URL;

export const dialects: Dialect[] = postgresUrl === undefined ? ['sqlite'] : ['sqlite', 'postgres'];
if (postgresUrl === undefined)
  console.warn('PostgreSQL: skipped, SVC_TEST_POSTGRES_URL is not set (scripts/postgres.sh start)');

export interface TestStorage {
  options: StorageOptions;
  dataDir: string;
  open(now?: () => number): Promise<Storage>;
  /** Removes the data directory and the schema. */
  remove(): Promise<void>;
}

/** A store of its own: a temporary directory, or a schema in PostgreSQL. */
export async function createTestStorage(dialect: Dialect): Promise<TestStorage> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-storage-'));
  const schema = `test_${randomBytes(6).toString('hex')}`;
  const options: StorageOptions =
    dialect === 'sqlite' ? { kind: 'sqlite' } : { kind: 'postgres', url: postgresUrl!, schema, poolSize: 8 };
  return {
    options,
    dataDir,
    open: () => openStorage(options, dataDir),
    async remove() {
      await rm(dataDir, { recursive: true, force: true });
      if (dialect === 'sqlite') return;
      const client = new pg.Client({ connectionString: postgresUrl });
      await client.connect();
      await client.query(`drop schema if exists ${schema} cascade`);
      await client.end();
    },
  };
}
