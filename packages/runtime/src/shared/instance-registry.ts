import type {
  CreateOptions,
  DriverOptions,
  PoolGrowth as GrowthRequest,
  PoolRequest,
  PoolState,
  RestoreOptions,
} from '../contract/driver.js';
import { DriverError, driverClosed } from '../contract/errors.js';
import type { Instance, InstanceRecord, InstanceSpec } from '../contract/instance.js';
import { requireCheckpointId, requireInstanceId } from './instance-id.js';
import { RetryLater } from './retry-later.js';
import { requireLabels } from './spec-rules.js';
import { type PoolGrowth, WarmPool } from './warm-pool.js';

/** The requirements of the registry on a driver's instances. */
export interface RegisteredInstance extends Instance {
  /** True if its processes run. */
  readonly running: boolean;
  /** True if it is leased by its id. False while it is made and in the pool. */
  readonly named: boolean;
  /** Ids of the layers below it. */
  readonly layers: readonly string[];
  describe(): InstanceRecord;
}

export interface StoredCheckpoint {
  id: string;
  memory: boolean;
  sizeBytes: number;
  layers: readonly string[];
}

/** Where a driver keeps its checkpoints. */
export interface Checkpoints<Stored extends StoredCheckpoint> {
  list(): Promise<Stored[]>;
  find(id: string): Promise<Stored | undefined>;
  /** Repeating it is fine. */
  delete(id: string): Promise<unknown>;
}

export interface RegistryOptions<Item, Stored extends StoredCheckpoint> {
  log: NonNullable<DriverOptions['log']>;
  checkpoints: Checkpoints<Stored>;
  /** Instances of the same key are alike: a pooled one serves for any of them. */
  poolKey(spec: InstanceSpec): string;
  /** Makes an instance and parks it. */
  makePooled(spec: InstanceSpec, signal: AbortSignal): Promise<Item>;
  /** Absent: the pool stays as large as requested. */
  poolGrowth?: PoolGrowth<InstanceSpec, Item>;
}

export interface CreateSteps<Item> {
  /** Refuses what cannot be made. */
  check(): Promise<void>;
  /** Gives a pooled instance its id and resumes it. */
  acquire(item: Item): Promise<void>;
  make(): Promise<Item>;
}

/**
 * The common part of all drivers around their instances: ids and their claims, the pool, checkpoints in use, reaping and
 * closing. The driver boots, freezes, stores and destroys.
 */
export class InstanceRegistry<Item extends RegisteredInstance, Stored extends StoredCheckpoint> {
  /** Clean-up that is tried again until it succeeds. */
  readonly cleanUp: RetryLater;
  readonly #options: RegistryOptions<Item, Stored>;
  readonly #pool: WarmPool<InstanceSpec, Item>;
  readonly #items = new Set<Item>();
  /** Ids that are being made, with the layers below. */
  readonly #claims = new Map<string, readonly string[]>();
  readonly #inFlight = new Set<Promise<Item>>();
  /** The number of running restores of each checkpoint. */
  readonly #restores = new Map<string, number>();
  #closed = false;

  constructor(options: RegistryOptions<Item, Stored>) {
    const { log } = options;
    this.#options = options;
    this.cleanUp = new RetryLater({
      onFailure: (what, error) =>
        log('warn', 'clean-up failed and will be tried again', { what, ...reasonOf(error) }),
    });
    this.#pool = new WarmPool({
      keyOf: (spec) => options.poolKey(spec),
      make: (spec, signal) => options.makePooled(spec, signal),
      discard: (item) => item.destroy(),
      usable: (item) => item.running,
      onFailure: (error) => log('warn', 'an instance for the pool could not be made', reasonOf(error)),
      ...(options.poolGrowth === undefined ? {} : { growth: options.poolGrowth }),
    });
  }

  /** Every instance of the driver, half-made and pooled ones too. */
  get items(): ReadonlySet<Item> {
    return this.#items;
  }

  /** Makes an instance known. It stays so until {@link remove}. */
  add(item: Item): void {
    this.#items.add(item);
  }

  remove(item: Item): void {
    this.#items.delete(item);
  }

  /** @throws {DriverError} `closed` */
  requireOpen(): void {
    if (this.#closed) throw driverClosed();
  }

  /** Gives a pooled instance that fits, else one that is made now. */
  create(options: CreateOptions, steps: CreateSteps<Item>): Promise<Item> {
    return this.#claiming(options, async () => {
      await this.#makingRoom(() => steps.check());
      const pooled = this.#pool.take(options.spec);
      if (pooled !== undefined) {
        try {
          await steps.acquire(pooled);
          return pooled;
        } catch (error) {
          this.#options.log('warn', 'a pooled instance could not be used', reasonOf(error));
          this.#pool.countAsMiss();
          await pooled.destroy();
        }
      }
      return this.#makingRoom(() => this.#pool.yieldTo(() => steps.make()));
    });
  }

  /**
   * Makes an instance of a checkpoint, which cannot be deleted meanwhile.
   * @throws {DriverError} `not_found`, or what `make` throws.
   */
  restore(
    options: RestoreOptions,
    steps: { check(): Promise<void>; make(checkpoint: Stored): Promise<Item> },
  ): Promise<Item> {
    return this.#claiming(options, async () => {
      const id = requireCheckpointId(options.checkpointId);
      await this.#makingRoom(() => steps.check());
      const checkpoint = await this.#options.checkpoints.find(id);
      if (checkpoint === undefined) throw new DriverError('not_found', `There is no checkpoint "${id}".`);
      this.#restores.set(id, (this.#restores.get(id) ?? 0) + 1);
      try {
        return await this.#makingRoom(() => this.#pool.yieldTo(() => steps.make(checkpoint)));
      } finally {
        const left = this.#restores.get(id)! - 1;
        if (left === 0) this.#restores.delete(id);
        else this.#restores.set(id, left);
      }
    });
  }

  async list(): Promise<InstanceRecord[]> {
    this.requireOpen();
    return this.#named()
      .map((item) => item.describe())
      .sort((a, b) => a.createdAtMs - b.createdAtMs);
  }

  async adopt(id: string): Promise<Item | undefined> {
    this.requireOpen();
    return this.#named().find((item) => item.id === id && item.running);
  }

  /** Removes instances that nobody claims or that are dead, and checkpoints that nobody claims. Names what it removed. */
  async reap(keep: { instanceIds: string[]; checkpointIds: string[] }): Promise<string[]> {
    this.requireOpen();
    const removed: string[] = [];
    const remove = async (what: string, task: () => Promise<unknown>) => {
      if (await this.cleanUp.attempt(what, task)) removed.push(what);
    };
    for (const item of this.#named()) {
      if (keep.instanceIds.includes(item.id) && item.running) continue;
      await remove(`instance ${item.id}`, () => item.destroy());
    }
    for (const { id } of await this.#options.checkpoints.list()) {
      if (keep.checkpointIds.includes(id) || this.#restores.has(id)) continue;
      await remove(`checkpoint ${id}`, () => this.deleteCheckpoint(id));
    }
    return removed;
  }

  async listCheckpoints(): Promise<{ id: string; memory: boolean; sizeBytes: number }[]> {
    this.requireOpen();
    const found = await this.#options.checkpoints.list();
    return found.map(({ id, memory, sizeBytes }) => ({ id, memory, sizeBytes }));
  }

  /** @throws {DriverError} `busy` while it is being restored. */
  async deleteCheckpoint(id: string): Promise<void> {
    this.requireOpen();
    requireCheckpointId(id);
    if (this.#restores.has(id)) throw new DriverError('busy', 'The checkpoint is being restored.');
    await this.#options.checkpoints.delete(id);
  }

  /** Returns true if an instance or checkpoint uses a layer. Pooled instances are given up for it. */
  async isLayerInUse(id: string): Promise<boolean> {
    const stacks = [...this.#named().map(({ layers }) => layers), ...this.#claims.values()];
    if (stacks.some((layers) => layers.includes(id))) return true;
    if ((await this.#options.checkpoints.list()).some(({ layers }) => layers.includes(id))) return true;
    await this.#pool.drop((spec) => spec.layers.includes(id));
    return false;
  }

  setPool(requests: PoolRequest[], growth?: GrowthRequest): void {
    this.requireOpen();
    this.#pool.setDesired(requests, (growth?.memoryMiB ?? 0) * 2 ** 20);
  }

  poolReady(): Promise<void> {
    return this.#pool.ready();
  }

  poolState(): PoolState {
    const { waiting, wanted, bytes, hits, misses } = this.#pool.state;
    return { waiting, wanted, memoryBytes: bytes, hits, misses };
  }

  /** Empties the pool and waits for what is being made. False: it was closed before. */
  async close({ destroyInstances = false }: { destroyInstances?: boolean }): Promise<boolean> {
    if (this.#closed) return false;
    this.#closed = true;
    await this.#pool.close();
    await Promise.allSettled(this.#inFlight);
    if (destroyInstances) await Promise.all(this.#named().map((item) => item.destroy()));
    this.cleanUp.close();
    return true;
  }

  #named(): Item[] {
    return [...this.#items].filter((item) => item.named);
  }

  /** Pooled instances give way to a task that somebody waits for. */
  async #makingRoom<T>(task: () => Promise<T>): Promise<T> {
    try {
      return await task();
    } catch (error) {
      if (!DriverError.is(error) || error.code !== 'no_capacity' || !(await this.#pool.shed())) throw error;
      return task();
    }
  }

  async #claiming(options: CreateOptions, task: () => Promise<Item>): Promise<Item> {
    this.requireOpen();
    const id = requireInstanceId(options.id);
    requireLabels(options.spec.labels);
    options.signal?.throwIfAborted();
    if (this.#claims.has(id) || this.#named().some((item) => item.id === id && item.running)) {
      throw new DriverError('invalid_spec', `An instance "${id}" exists already.`);
    }
    this.#claims.set(id, options.spec.layers);
    const making = this.#unlessUnwanted(options, task);
    this.#inFlight.add(making);
    try {
      return await making;
    } finally {
      this.#inFlight.delete(making);
      this.#claims.delete(id);
    }
  }

  /** Destroys what was made for somebody who gave up meanwhile, or for a driver that was closed. */
  async #unlessUnwanted({ signal }: CreateOptions, task: () => Promise<Item>): Promise<Item> {
    const item = await task();
    try {
      this.requireOpen();
      signal?.throwIfAborted();
      return item;
    } catch (error) {
      await item.destroy();
      throw error;
    }
  }
}

function reasonOf(error: unknown): Record<string, unknown> {
  return DriverError.is(error) ? { error: error.message, detail: error.detail } : { error: String(error) };
}
