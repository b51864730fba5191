import { setTimeout as sleep } from 'node:timers/promises';
import {
  type DatabaseIntrospector,
  Kysely,
  type LogEvent,
  PostgresDialect,
  type PostgresPool,
  sql,
} from 'kysely';
import pg from 'pg';
import { DatabaseLostError, DatabaseUnreachableError, isUniqueViolation } from './database-errors.js';
import type { Schema } from './schema.js';

const INT8 = 20;
/** Time limit of a connection attempt, ms: an unresponsive host must not block requests for ever. */
const CONNECT_MS = 10_000;

/**
 * Opens PostgreSQL by URL.
 * @param schema Name of the PostgreSQL schema that holds the tables; it is made when missing. Default `public`.
 */
export async function openPostgres(
  url: string,
  options: { schema?: string; poolSize?: number; onQuery?: (event: LogEvent) => void } = {},
): Promise<Kysely<Schema>> {
  const schema = options.schema;
  if (schema !== undefined) await ensureSchema(url, schema);
  const pool = new pg.Pool({
    connectionString: url,
    max: options.poolSize ?? 10,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    // bigint columns hold times and sizes, all of them below 2^53.
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === INT8 ? (Number as never) : pg.types.getTypeParser(oid, format as 'text'),
    },
    ...(schema === undefined ? {} : { options: `-c search_path=${quote(schema)}` }),
  });
  // An idle connection that the database closes must not end the process, nor one that is in use: its query fails.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  const tracked = {
    connect: () => connectTo(pool),
    end: () => pool.end(),
  };
  return new Kysely<Schema>({
    dialect: new OwnSchemaDialect({ pool: tracked as unknown as PostgresPool }),
    ...(options.onQuery === undefined ? {} : { log: options.onQuery }),
  });
}

/**
 * Looks at the tables of our own schema alone. Kysely's introspection reads those of every schema of the database, and
 * fails when we may not use one of them or when one is dropped meanwhile.
 */
class OwnSchemaDialect extends PostgresDialect {
  override createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    const getTables = async () => {
      const { rows } = await sql<{
        name: string;
        schema: string;
      }>`select tablename as name, schemaname as schema
        from pg_tables where schemaname = current_schema()`.execute(db);
      return rows.map((row) => ({ ...row, isView: false, isForeign: false, columns: [] }));
    };
    return {
      getTables,
      getSchemas: async () => [],
      getMetadata: async () => ({ tables: await getTables() }),
    };
  }
}

/** The database has no connection left for us, though others may be given back at any moment. */
const TOO_MANY_CONNECTIONS = '53300';
const RETRY_MS = 50;

/** @throws {DatabaseUnreachableError} */
async function connectTo(pool: pg.Pool): Promise<PooledClient> {
  const end = performance.now() + CONNECT_MS;
  for (;;) {
    try {
      return new PooledClient(await pool.connect());
    } catch (error) {
      const full = (error as { code?: unknown }).code === TOO_MANY_CONNECTIONS;
      if (!full || performance.now() > end || pool.ending) throw new DatabaseUnreachableError(error);
      await sleep(RETRY_MS);
    }
  }
}

/** A connection in use. It distinguishes a lost connection from a failed statement, and a lost one is not used again. */
class PooledClient {
  readonly #client: pg.PoolClient;
  #lost = false;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  /** @throws {DatabaseLostError} {DatabaseUnreachableError} when not even the transaction was begun */
  async query(text: string, parameters: unknown[]): Promise<pg.QueryResult> {
    try {
      return await this.#client.query(text, parameters);
    } catch (error) {
      if (!isLost(error)) throw error;
      this.#lost = true;
      // The database has done that. A failure here would hide why the transaction failed.
      if (text === 'rollback') return { command: '', rowCount: 0, oid: 0, fields: [], rows: [] };
      throw text === 'begin' ? new DatabaseUnreachableError(error) : new DatabaseLostError(error);
    }
  }

  release(): void {
    this.#client.release(this.#lost);
  }
}

/** Everything but what the database says of a statement, and of that what it says when it ends a connection. */
function isLost(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return /^(08|57P)/.test(error.code ?? '');
  return !(error instanceof TypeError || error instanceof RangeError);
}

async function ensureSchema(url: string, schema: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS });
  await client.connect();
  try {
    await client.query(`create schema if not exists ${quote(schema)}`).catch((error: unknown) => {
      // Another server that starts at the same time was faster.
      if (!isUniqueViolation(error)) throw error;
    });
  } finally {
    await client.end();
  }
}

function quote(name: string): string {
  if (!/^[a-z0-9_]+$/.test(name))
    throw new Error('a PostgreSQL schema name is lower-case letters, digits and _');
  return name;
}
