import { anyOf } from '#support/any-of';
import { concurrently } from '../../api/context/concurrent.js';
import { ApiError } from '../../api/errors/api-error.js';
import { configOf } from '../../sandboxes/state/config.js';
import type { SandboxRow } from '../../sandboxes/state/live.js';
import { fromJson } from '../../storage/json.js';
import type { NodeMoving, StayingObject } from '../../storage/json-shapes.js';
import { destinations, whyNowhere } from './destinations.js';
import { moveRunning } from './move-running.js';
import { type MovePorts, offerOf } from './move-sandbox.js';
import { offer } from './offer.js';
import { buildsAtHome } from './remove-node.js';
import { isMovable } from './take-sandbox.js';

/** Most sandboxes that leave at the same time, and nodes that are asked for each. */
const CONCURRENCY = 2;
const MOST_TRIES = 3;
/** Delay before the next try for something that could not leave, ms; doubled each time. */
const AGAIN_MS = { least: 2_000, most: 60_000 };
/** The same for a sandbox that was stopped for a move in vain. */
const STOPPED_AGAIN_MS = { least: 300_000, most: 3_600_000 };
/** Most sandboxes that stay and are listed. */
const MOST_TOLD = 50;
/** Characters of a reason: all servers read them with each heartbeat. */
const REASON_SHOWN = 500;

type Item = Pick<StayingObject, 'kind' | 'id'>;

/** `later`: something else is under way with it. */
type Outcome = { kind: 'left' } | { kind: 'later' } | { kind: 'stays'; reason: string; stopped?: boolean };

const stays = (reason: string): Outcome => ({ kind: 'stays', reason });

/** Empties the node that it runs on while an operator wants that: all that can leave goes to other nodes, a little at a time. */
export class NodeMover {
  readonly #context: MovePorts;
  readonly #stopped = new AbortController();
  readonly #signal: AbortSignal;
  /** The sandboxes here, by the last look; undefined while none is to leave. */
  #left: Map<string, Item> | undefined;
  readonly #failed = new Map<string, { reason: string; tries: number; againAtMs: number }>();

  constructor(context: MovePorts) {
    this.#context = context;
    this.#signal = anyOf([context.signal, this.#stopped.signal]);
  }

  /** The progress; undefined while nothing is to leave. */
  get moving(): NodeMoving | undefined {
    if (this.#left === undefined || !this.#wanted) return undefined;
    const moving: NodeMoving = { sandboxes: 0, templates: 0, stays: [], staysTotal: 0 };
    for (const [key, item] of this.#left) {
      const failed = this.#failed.get(key);
      if (failed !== undefined) {
        moving.staysTotal += 1;
        if (moving.stays.length < MOST_TOLD) moving.stays.push({ ...item, reason: failed.reason });
      } else if (item.kind === 'sandbox') moving.sandboxes += 1;
      else moving.templates += 1;
    }
    return moving;
  }

  /** Moves what can be moved now. */
  async round(): Promise<void> {
    if (!this.#wanted) {
      this.#left = undefined;
      this.#failed.clear();
      return;
    }
    const items = await this.#look();
    const left = new Map(items.map((item) => [keyOf(item), item]));
    this.#left = left;
    for (const key of this.#failed.keys()) if (!left.has(key)) this.#failed.delete(key);
    const now = this.#context.now();
    const due = items.filter((item) => (this.#failed.get(keyOf(item))?.againAtMs ?? 0) <= now);
    await concurrently(due, CONCURRENCY, async (item) => {
      if (!this.#wanted) return;
      const outcome = await this.#move(item).catch((error: unknown) => this.#failure(item, error));
      this.#note(item, outcome);
    });
  }

  /** Asks no further nodes: sandboxes on their way continue here. */
  stop(): void {
    this.#stopped.abort(new Error('the server stops'));
  }

  get #wanted(): boolean {
    const { nodes } = this.#context;
    return nodes.drain === 'move' && !nodes.taken && !this.#signal.aborted;
  }

  #note(item: Item, outcome: Outcome): void {
    const key = keyOf(item);
    if (outcome.kind === 'later') return;
    if (outcome.kind === 'left') {
      this.#left?.delete(key);
      this.#failed.delete(key);
      return;
    }
    const tries = (this.#failed.get(key)?.tries ?? 0) + 1;
    const { least, most } = outcome.stopped === true ? STOPPED_AGAIN_MS : AGAIN_MS;
    const waitMs = Math.min(most, least * 2 ** (tries - 1));
    const reason = outcome.reason.slice(0, REASON_SHOWN);
    this.#failed.set(key, { reason, tries, againAtMs: this.#context.now() + waitMs });
  }

  #failure(item: Item, error: unknown): Outcome {
    this.#context.log.warn(
      { err: error, ...item },
      'a drained server keeps some sandboxes or builds for now',
    );
    return stays(ApiError.is(error) ? error.message : 'the move failed, see the log of its server');
  }

  async #look(): Promise<Item[]> {
    const { db, nodes } = this.#context;
    const here = nodes.nodeId;
    const [sandboxes, builds, volumes] = await Promise.all([
      db.selectFrom('sandboxes').select('id').where('node_id', '=', here).orderBy('id').execute(),
      buildsAtHome(db, here).orderBy('id').execute(),
      db.selectFrom('volumes').select('id').where('node_id', '=', here).orderBy('id').execute(),
    ]);
    return [
      ...sandboxes.map(({ id }) => ({ kind: 'sandbox' as const, id })),
      ...builds.map(({ id }) => ({ kind: 'template' as const, id })),
      ...volumes.map(({ id }) => ({ kind: 'volume' as const, id })),
    ];
  }

  async #move({ kind, id }: Item): Promise<Outcome> {
    const { copies, driver } = this.#context;
    if (driver.shared !== undefined)
      return stays(
        'it is on a cluster, and not on this server alone: another one takes it over once this one has stopped',
      );
    if (kind === 'volume') return stays('volumes stay on the server that has them');
    if (!copies.possible)
      return stays('what this server stores cannot leave it (SVC_TRANSFER_KEY, or its driver)');
    return kind === 'sandbox' ? this.#moveSandbox(id) : this.#moveBuild(id);
  }

  async #moveSandbox(id: string): Promise<Outcome> {
    const context = this.#context;
    const row = await context.db
      .selectFrom('sandboxes')
      .selectAll()
      .where('id', '=', id)
      .where('node_id', '=', context.nodes.nodeId)
      .executeTakeFirst();
    if (row === undefined) return { kind: 'left' };
    if (configOf(row).mounts.length > 0) return stays('it mounts volumes of this server');
    if (row.state === 'running') return this.#moveRunning(row);
    if (row.state !== 'paused') return { kind: 'later' };
    if (!isMovable(row)) return stays('its memory is in the RAM of this server alone');
    const cargo = {
      nodeId: row.node_id,
      memory: row.paused_memory === 1,
      memoryMiB: row.memory_mb,
      runs: false,
    };
    const { nodes, why } = await destinations(context, cargo);
    if (nodes.length === 0) return stays(whyNowhere({ why }));
    const asked = {
      ...(await offerOf(context, row, true)),
      nodes: nodes.slice(0, MOST_TRIES),
      signal: this.#signal,
    };
    const offered = await offer(context, asked);
    return offered.node !== undefined ? { kind: 'left' } : stays(whyNowhere({ why: offered.refusals }));
  }

  async #moveRunning(row: SandboxRow): Promise<Outcome> {
    const context = this.#context;
    if (!context.driver.capabilities.memorySnapshot)
      return stays(
        'it runs, and its driver cannot store memory: it leaves once it is paused without, or ends',
      );
    const cargo = { nodeId: row.node_id, memory: true, memoryMiB: row.memory_mb, runs: true };
    const { nodes, why } = await destinations(context, cargo);
    if (nodes.length === 0) return stays(whyNowhere({ why }));
    const live = context.sandboxes.get(row.id);
    if (live === undefined || live.transition !== undefined || live.deleted || live.row.state !== 'running')
      return { kind: 'later' };
    const offered = await moveRunning(context, live, nodes.slice(0, MOST_TRIES), this.#signal);
    if (offered.node !== undefined) {
      await context.fleet.sent(offered.node.id);
      return { kind: 'left' };
    }
    return { kind: 'stays', reason: whyNowhere({ why: offered.refusals }), stopped: true };
  }

  async #moveBuild(id: string): Promise<Outcome> {
    const context = this.#context;
    const { db } = context;
    const build = await db
      .selectFrom('template_builds')
      .selectAll()
      .where('id', '=', id)
      .where('node_id', '=', context.nodes.nodeId)
      .executeTakeFirst();
    if (build === undefined) return { kind: 'left' };
    if (build.status !== 'ready') return { kind: 'later' };
    const checkpoint =
      build.checkpoint_id === null
        ? undefined
        : await db
            .selectFrom('checkpoints')
            .select(['memory', 'size_bytes'])
            .where('id', '=', build.checkpoint_id)
            .executeTakeFirst();
    const memory = checkpoint?.memory === 1;
    const { nodes, why } = await destinations(context, {
      nodeId: context.nodes.nodeId,
      memory,
      memoryMiB: build.memory_mb,
      runs: false,
    });
    if (nodes.length === 0) return stays(whyNowhere({ why }));
    const offered = await offer(context, {
      nodes: nodes.slice(0, MOST_TRIES),
      path: `/node/builds/${id}/take`,
      sizeBytes:
        (checkpoint?.size_bytes ?? 0) + (fromJson(build.layers).length + 1) * build.disk_mb * 2 ** 20,
      home: async () =>
        (await db.selectFrom('template_builds').select('node_id').where('id', '=', id).executeTakeFirst())
          ?.node_id ?? undefined,
      signal: this.#signal,
    });
    return offered.node !== undefined ? { kind: 'left' } : stays(whyNowhere({ why: offered.refusals }));
  }
}

const keyOf = ({ kind, id }: Item) => `${kind}/${id}`;
