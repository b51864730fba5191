import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { Schema } from './schema.js';
import { DatabaseUnreachableError } from './unreachable.js';

const INT8 = 20;
/** A host that does not answer must not hold requests for ever. */
const CONNECT_MS = 10_000;

/**
 * Opens PostgreSQL by URL.
 * @param schema Name of the PostgreSQL schema that holds the tables; it is made when missing. Default `public`.
 */
export async function openPostgres(
  url: string,
  options: { schema?: string; poolSize?: number } = {},
): Promise<Kysely<Schema>> {
  const schema = options.schema;
  if (schema !== undefined) await ensureSchema(url, schema);
  const pool = new pg.Pool({
    connectionString: url,
    max: options.poolSize ?? 10,
    connectionTimeoutMillis: CONNECT_MS,
    // bigint columns hold times and sizes, all of them below 2^53.
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === INT8 ? (Number as never) : pg.types.getTypeParser(oid, format as 'text'),
    },
    ...(schema === undefined ? {} : { options: `-c search_path=${quote(schema)}` }),
  });
  // An idle connection that the database closes must not end the process.
  pool.on('error', () => {});
  const told = {
    connect: () =>
      pool.connect().catch((error: unknown) => {
        throw new DatabaseUnreachableError(error);
      }),
    end: () => pool.end(),
  };
  return new Kysely<Schema>({ dialect: new PostgresDialect({ pool: told }) });
}

async function ensureSchema(url: string, schema: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS });
  await client.connect();
  try {
    await client.query(`create schema if not exists ${quote(schema)}`);
  } finally {
    await client.end();
  }
}

function quote(name: string): string {
  if (!/^[a-z0-9_]+$/.test(name))
    throw new Error('a PostgreSQL schema name is lower-case letters, digits and _');
  return name;
}
