import { sql } from 'kysely';
import type { Database } from '../storage/schema.js';

/** How often a node says that it lives, ms. */
export const HEARTBEAT_MS = 2_000;
/** A node that said nothing for so long is taken for dead, ms. */
export const SILENCE_MS = 10_000;
/** How long a record is kept in memory, ms. */
const TTL_MS = 1_000;

export interface NodeRecord {
  id: string;
  apiUrl: string;
  sandboxUrl: string;
}

export interface NodeRegistryOptions {
  db: Database;
  nodeId: string;
  /** Whether other processes may share the database. */
  shared: boolean;
  /** Milliseconds. Says only how long a record was kept in memory: whether a node lives is judged by the database's clock. */
  now: () => number;
}

/** The clock of PostgreSQL, ms since the epoch: the only one that all nodes share. */
const databaseNow = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;

/** The API processes that share a PostgreSQL, each with the addresses at which the others reach it. */
export class NodeRegistry {
  readonly nodeId: string;
  readonly shared: boolean;
  readonly #options: NodeRegistryOptions;
  readonly #known = new Map<string, { record: NodeRecord; readAtMs: number }>();

  constructor(options: NodeRegistryOptions) {
    this.#options = options;
    this.nodeId = options.nodeId;
    this.shared = options.shared;
  }

  /** Says that this node lives at these addresses. */
  async announce(apiUrl: string, sandboxUrl: string): Promise<void> {
    const values = { api_url: apiUrl, sandbox_url: sandboxUrl, heartbeat_at: databaseNow };
    await this.#options.db
      .insertInto('nodes')
      .values({ id: this.nodeId, ...values })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(values))
      .execute();
  }

  /** Says that this node stops. Its sandboxes stay its own. */
  async leave(): Promise<void> {
    await this.#options.db
      .updateTable('nodes')
      .set({ heartbeat_at: 0 })
      .where('id', '=', this.nodeId)
      .execute();
  }

  /**
   * Another node, when it had a heartbeat lately. Only nodes that live are remembered, for a second: one that has just
   * started or come back is found at once.
   */
  async findAlive(nodeId: string): Promise<NodeRecord | undefined> {
    const now = this.#options.now();
    const known = this.#known.get(nodeId);
    if (known !== undefined && Math.abs(now - known.readAtMs) < TTL_MS) return known.record;
    const record = await this.#readAlive(nodeId);
    if (record === undefined) this.#known.delete(nodeId);
    else this.#known.set(nodeId, { record, readAtMs: now });
    return record;
  }

  async #readAlive(nodeId: string): Promise<NodeRecord | undefined> {
    const row = await this.#options.db
      .selectFrom('nodes')
      .select(['id', 'api_url', 'sandbox_url'])
      .where('id', '=', nodeId)
      .where('heartbeat_at', '>=', sql<number>`${databaseNow} - ${SILENCE_MS}`)
      .executeTakeFirst();
    return row === undefined ? undefined : { id: row.id, apiUrl: row.api_url, sandboxUrl: row.sandbox_url };
  }
}
