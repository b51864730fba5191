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
  heartbeatAtMs: number;
}

export interface NodeRegistryOptions {
  db: Database;
  nodeId: string;
  /** Whether other processes may share the database. */
  shared: boolean;
  /** Milliseconds since the epoch. Clocks of nodes may differ by a few seconds. */
  now: () => number;
}

/** The API processes that share a database, each with the addresses at which the others reach it. */
export class NodeRegistry {
  readonly nodeId: string;
  readonly shared: boolean;
  readonly #options: NodeRegistryOptions;
  readonly #known = new Map<string, { record: NodeRecord | undefined; readAtMs: number }>();

  constructor(options: NodeRegistryOptions) {
    this.#options = options;
    this.nodeId = options.nodeId;
    this.shared = options.shared;
  }

  /** Says that this node lives at these addresses. */
  async announce(apiUrl: string, sandboxUrl: string): Promise<void> {
    const values = { api_url: apiUrl, sandbox_url: sandboxUrl, heartbeat_at: this.#options.now() };
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

  /** Another node, when it had a heartbeat lately. */
  async findAlive(nodeId: string): Promise<NodeRecord | undefined> {
    const now = this.#options.now();
    const known = this.#known.get(nodeId);
    const record =
      known !== undefined && Math.abs(now - known.readAtMs) < TTL_MS
        ? known.record
        : await this.#read(nodeId, now);
    return record !== undefined && now - record.heartbeatAtMs <= SILENCE_MS ? record : undefined;
  }

  async #read(nodeId: string, now: number): Promise<NodeRecord | undefined> {
    const row = await this.#options.db
      .selectFrom('nodes')
      .selectAll()
      .where('id', '=', nodeId)
      .executeTakeFirst();
    const record =
      row === undefined
        ? undefined
        : { id: row.id, apiUrl: row.api_url, sandboxUrl: row.sandbox_url, heartbeatAtMs: row.heartbeat_at };
    this.#known.set(nodeId, { record, readAtMs: now });
    return record;
  }
}
