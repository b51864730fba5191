import { type Selectable, type SqlBool, sql } from 'kysely';
import type { NodeRecord, ThisNode } from '../../api/context/nodes.js';
import { fromJson, toJson } from '../../storage/json.js';
import type { NodeReport } from '../../storage/json-shapes.js';
import type { Database, NodeDrain, NodesTable, Tx } from '../../storage/schema.js';

/** Interval of heartbeats, ms. */
export const HEARTBEAT_MS = 2_000;
/** Lifetime of a cached record, ms. */
const TTL_MS = 1_000;

interface NodeRegistryOptions {
  db: Database;
  nodeId: string;
  /** The number of this start of the node, see `claimNode`. */
  epoch: number;
  /** True when other processes may share the database. */
  shared: boolean;
  /** Milliseconds. Says only how long a record was kept in memory: whether a node lives is judged by the database's clock. */
  now: () => number;
}

/** The result of a heartbeat. */
interface Heartbeat {
  /** Others took this node for dead meanwhile, and may have ended its sandboxes. */
  wasSilent: boolean;
}

/** The API processes that share a PostgreSQL, each with the addresses at which the others reach it. */
export class NodeRegistry implements ThisNode {
  readonly nodeId: string;
  readonly shared: boolean;
  readonly #options: NodeRegistryOptions;
  readonly #known = new Map<string, { record: NodeRecord; readAtMs: number }>();
  #drain: NodeDrain = 'no';
  #lastBeatMs: number | undefined;
  #taken = false;

  constructor(options: NodeRegistryOptions) {
    this.#options = options;
    this.nodeId = options.nodeId;
    this.shared = options.shared;
  }

  /** The number of this start of the node. */
  get epoch(): number {
    return this.#options.epoch;
  }

  /** The order of an operator to drain this node, as the last heartbeat found. */
  get drain(): NodeDrain {
    return this.#drain;
  }

  /** True once another process has this node's name: this one may write nothing any more. */
  get taken(): boolean {
    return this.#taken;
  }

  /**
   * Says that this node lives at these addresses.
   * @throws {NodeNameTakenError} when another process has taken its name, or an operator has removed it
   */
  async announce(apiUrl: string, sandboxUrl: string, report?: NodeReport): Promise<Heartbeat> {
    const { db, epoch } = this.#options;
    const row = await db
      .updateTable('nodes')
      .set({
        api_url: apiUrl,
        sandbox_url: sandboxUrl,
        heartbeat_at: databaseNow,
        ...(report === undefined ? {} : { report: toJson(report) }),
      })
      .where('id', '=', this.nodeId)
      .where('epoch', '=', epoch)
      .returning(['heartbeat_at', 'drain'])
      .executeTakeFirst();
    if (row === undefined) {
      this.#taken = true;
      throw new NodeNameTakenError(this.nodeId, 'running');
    }
    const wasSilent =
      this.#lastBeatMs !== undefined && row.heartbeat_at - this.#lastBeatMs > SILENCE_MS - HEARTBEAT_MS;
    this.#lastBeatMs = row.heartbeat_at;
    this.#drain = row.drain;
    return { wasSilent };
  }

  /** Says that this node stops. Its sandboxes stay its own. */
  async leave(): Promise<void> {
    const { db, epoch } = this.#options;
    await db
      .updateTable('nodes')
      .set({ heartbeat_at: 0 })
      .where('id', '=', this.nodeId)
      .where('epoch', '=', epoch)
      .execute();
  }

  /** Condition of every change of this node's sandboxes: no other process has its name. */
  fence() {
    if (!this.shared) return sql<SqlBool>`1 = 1`;
    return sql<SqlBool>`exists (select 1 from nodes where id = ${this.nodeId} and epoch = ${this.epoch})`;
  }

  /**
   * Checks the same at the begin of a transaction that adds rows of this node, and until its end: another process that takes the name waits for it.
   * @throws {NodeNameTakenError}
   */
  async assertOwned(tx: Tx): Promise<void> {
    if (!this.shared) return;
    const held = await tx
      .selectFrom('nodes')
      .select('id')
      .where('id', '=', this.nodeId)
      .where('epoch', '=', this.epoch)
      .forKeyShare()
      .executeTakeFirst();
    if (held !== undefined) return;
    this.#taken = true;
    throw new NodeNameTakenError(this.nodeId, 'running');
  }

  /** Returns whether a start of a node still has a heartbeat. */
  async isRunning(nodeId: string, epoch: number): Promise<boolean> {
    const row = await this.#options.db
      .selectFrom('nodes')
      .select('id')
      .where('id', '=', nodeId)
      .where('epoch', '=', epoch)
      .where(nodeIsAlive)
      .executeTakeFirst();
    return row !== undefined;
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
      .select(['id', 'api_url', 'sandbox_url', 'report'])
      .where('id', '=', nodeId)
      .where(nodeIsAlive)
      .executeTakeFirst();
    return row === undefined ? undefined : toNodeRecord(row);
  }
}

export function toNodeRecord(
  row: Pick<Selectable<NodesTable>, 'id' | 'api_url' | 'sandbox_url' | 'report'>,
): NodeRecord {
  return {
    id: row.id,
    apiUrl: row.api_url,
    sandboxUrl: row.sandbox_url,
    acknowledges: fromJson(row.report).version !== undefined,
  };
}

const TEXTS = {
  running:
    'another process has taken its name, or an operator has removed it. This server serves nothing any more: stop it. ' +
    'If its data directory is a copy of the other one, delete the file node-id in it before it starts again',
  alive:
    'a server with that name runs on another machine or in another data directory. ' +
    'If this data directory is a copy, delete the file node-id in it and start again',
  copy:
    'it was started from a copy of this data directory. Delete the file node-id to run as a node of its own; ' +
    'if no other machine has that name any more, delete the file node-epoch instead',
};

/** Another process has the name of this node. */
export class NodeNameTakenError extends Error {
  override readonly name = 'NodeNameTakenError';

  constructor(nodeId: string, how: keyof typeof TEXTS) {
    super(`this server cannot be node ${nodeId}: ${TEXTS[how]}`);
  }
}

/** A node that said nothing for so long is taken for dead, ms. */
export const SILENCE_MS = 10_000;

/** The clock of PostgreSQL, ms since the epoch: the only one that all nodes share. */
export const databaseNow = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;

/** Heartbeats before this are too old. */
const silentSince = sql<number>`${databaseNow} - ${SILENCE_MS}`;

/** Condition on rows of `sandboxes`: their node had no heartbeat lately, or there is none. */
export const nodeIsSilent = sql<SqlBool>`not exists (
  select 1 from nodes where nodes.id = sandboxes.node_id and nodes.heartbeat_at >= ${silentSince})`;

/** Condition on rows of `nodes`: it had a heartbeat lately. */
export const nodeIsAlive = sql<SqlBool>`heartbeat_at >= ${silentSince}`;
