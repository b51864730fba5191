import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { StorageOptions } from '../../src/index.js';

/** The database of this run of the tests; `vitest.config.ts` runs them once for each. */
export const dialect = process.env.SVC_TEST_DIALECT === 'postgres' ? 'postgres' : 'sqlite';

/** SQLite in the data directory, or a PostgreSQL schema of its own. */
export async function testStorage(): Promise<{ storage: StorageOptions; schema: string | undefined }> {
  const url = process.env.SVC_TEST_POSTGRES_URL;
  if (dialect === 'sqlite' || url === undefined) return { storage: { kind: 'sqlite' }, schema: undefined };
  const schema = `test_${randomBytes(8).toString('hex')}`;
  return { storage: { kind: 'postgres', url, schema, poolSize: 4 }, schema };
}

/** The same for a server in a process of its own, which is told a URL and nothing else. */
export async function childStorage(): Promise<{ url: string | undefined; schema: string | undefined }> {
  const { storage, schema } = await testStorage();
  if (storage.kind === 'sqlite' || schema === undefined) return { url: undefined, schema };
  const client = new pg.Client({ connectionString: storage.url });
  await client.connect();
  await client.query(`create schema ${schema}`);
  await client.end();
  return { url: `${storage.url}?options=${encodeURIComponent(`-c search_path=${schema}`)}`, schema };
}

export async function dropSchema(schema: string | undefined): Promise<void> {
  if (schema === undefined) return;
  const client = new pg.Client({ connectionString: process.env.SVC_TEST_POSTGRES_URL });
  await client.connect();
  await client.query(`drop schema if exists ${schema} cascade`);
  await client.end();
}
