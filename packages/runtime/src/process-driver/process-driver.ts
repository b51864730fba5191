import type { ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Capabilities } from '../contract/capabilities.js';
import type {
  CreateOptions,
  Driver,
  DriverOptions,
  PoolRequest,
  RestoreOptions,
} from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import type { Instance, InstanceRecord, InstanceSpec } from '../contract/instance.js';
import { copyTree } from '../shared/copy-tree.js';
import type { DataDirLock } from '../shared/data-dir-lock.js';
import { randomId, requireCheckpointId } from '../shared/instance-id.js';
import { RetryLater } from '../shared/retry-later.js';
import { Semaphore } from '../shared/semaphore.js';
import { WarmPool } from '../shared/warm-pool.js';
import { bootSlot } from './boot-slot.js';
import { CAPABILITIES, requireSpec } from './capabilities.js';
import { CheckpointStore } from './checkpoint-store.js';
import { removeTree } from './file-sets.js';
import { LayerStore } from './layer-store.js';
import { noSuch } from './no-such.js';
import type { Paths } from './paths.js';
import { ProcessInstance } from './process-instance.js';
import { killTree } from './process-tree.js';
import { reapRemains } from './reap.js';
import { describeRecord, isAlive, type StoredInstance } from './record.js';
import type { Stores } from './stores.js';

/** Sandboxes that are plain processes. Made by `createProcessDriver`. */
export class ProcessDriver implements Driver {
  readonly name = 'process';
  readonly capabilities: Capabilities = CAPABILITIES;
  readonly summary = `process: plain processes of this machine, no isolation; Node ${process.version}`;
  readonly layers: LayerStore;
  readonly #options: DriverOptions;
  readonly #lock: DataDirLock;
  readonly #paths: Paths;
  readonly #stores: Stores;
  readonly #cleanUp: RetryLater;
  readonly #pool: WarmPool<InstanceSpec, ProcessInstance>;
  readonly #boots = new Semaphore(Math.max(2, availableParallelism()));
  /** What is on disk and not held by an object: made by an earlier process of the server. */
  readonly #stored: Map<string, StoredInstance>;
  readonly #held = new Map<string, ProcessInstance>();
  /** Slots this process is making, pools or holds: the reaper keeps off. */
  readonly #slots = new Set<string>();
  /** Creates and restores that run. */
  readonly #inFlight = new Set<Promise<unknown>>();
  /** Ids promised to running creates, with the layers that these stand on. */
  readonly #layersInFlight = new Map<string, string[]>();
  #closed = false;

  constructor(options: DriverOptions, lock: DataDirLock, paths: Paths, records: Map<string, StoredInstance>) {
    this.#options = options;
    this.#lock = lock;
    this.#paths = paths;
    this.#stored = records;
    this.layers = new LayerStore({ paths, inUse: (id) => this.#layerInUse(id) });
    this.#stores = { layers: this.layers, checkpoints: new CheckpointStore(paths) };
    this.#cleanUp = new RetryLater({
      onFailure: (name, error) =>
        options.log?.('warn', 'Clean-up failed and will be tried again.', {
          what: name,
          error: String(error),
        }),
    });
    this.#pool = new WarmPool({
      keyOf: (spec) => spec.layers.join('/'),
      make: (spec, signal) => this.#makePooled(spec, signal),
      discard: (instance) => instance.destroy(),
      usable: (instance) => instance.alive,
      onFailure: (error) =>
        options.log?.('warn', 'A sandbox for the pool could not be made.', { error: String(error) }),
    });
  }

  async create(options: CreateOptions): Promise<Instance> {
    requireSpec(options);
    return this.#named(options, async () => {
      await this.layers.require(options.spec.layers);
      const pooled = await this.#takePooled(options.spec);
      if (pooled !== undefined) return pooled;
      return this.#pool.yieldTo(() =>
        this.#make(options.spec.layers, options.signal, (home) =>
          this.layers.unpack(options.spec.layers, home, options.signal),
        ),
      );
    });
  }

  async restore(options: RestoreOptions): Promise<Instance> {
    requireSpec(options);
    if (options.memory) throw new DriverError('unsupported', 'This driver cannot restore memory.');
    const { sets } = this.#stores.checkpoints;
    const id = requireCheckpointId(options.checkpointId);
    return this.#named(options, async () => {
      const checkpoint = await sets.find(id);
      if (checkpoint === undefined) throw noSuch('checkpoint');
      return this.#pool.yieldTo(() =>
        this.#make(checkpoint.layers, options.signal, (home) =>
          copyTree(sets.filesOf(id), home, options.signal),
        ),
      );
    });
  }

  async list(): Promise<InstanceRecord[]> {
    const held = [...this.#held.values()].map((instance) => describeRecord(instance.record, instance.alive));
    const stored = [...this.#stored.values()].map((record) => describeRecord(record, isAlive(record)));
    return [...held, ...stored].sort((a, b) => a.createdAtMs - b.createdAtMs);
  }

  async adopt(id: string): Promise<Instance | undefined> {
    const held = this.#held.get(id);
    if (held !== undefined) return held.alive ? held : undefined;
    const record = this.#stored.get(id);
    if (record === undefined || !isAlive(record)) return undefined;
    const instance = this.#hold(record);
    this.#stored.delete(id);
    this.#held.set(id, instance);
    return instance;
  }

  async reap(keep: { instanceIds: string[]; checkpointIds: string[] }): Promise<string[]> {
    const removed: string[] = [];
    for (const [id, instance] of this.#held) {
      if (keep.instanceIds.includes(id)) continue;
      if (await this.#cleanUp.attempt(`instance ${id}`, () => instance.destroy()))
        removed.push(`instance ${id}`);
    }
    const kept = new Set(this.#slots);
    for (const [id, record] of this.#stored) {
      if (keep.instanceIds.includes(id)) kept.add(record.slot);
      else this.#stored.delete(id);
    }
    for (const { id } of await this.#stores.checkpoints.sets.list()) {
      if (keep.checkpointIds.includes(id)) continue;
      if (await this.#cleanUp.attempt(`checkpoint ${id}`, () => this.#stores.checkpoints.sets.delete(id)))
        removed.push(`checkpoint ${id}`);
    }
    return [...removed, ...(await reapRemains(this.#paths, kept, this.#cleanUp))];
  }

  async listCheckpoints(): Promise<{ id: string; memory: boolean; sizeBytes: number }[]> {
    const found = await this.#stores.checkpoints.sets.list();
    return found.map(({ id, memory, sizeBytes }) => ({ id, memory, sizeBytes }));
  }

  async deleteCheckpoint(checkpointId: string): Promise<void> {
    await this.#stores.checkpoints.sets.delete(requireCheckpointId(checkpointId));
  }

  setPool(requests: PoolRequest[]): void {
    this.#requireOpen();
    this.#pool.setWishes(requests.map(({ spec, size }) => ({ wish: spec, size })));
  }

  poolReady(): Promise<void> {
    return this.#pool.ready();
  }

  async close(options: { destroyInstances?: boolean } = {}): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#cleanUp.close();
    await this.#pool.close();
    await Promise.allSettled(this.#inFlight);
    if (options.destroyInstances) {
      for (const id of [...this.#stored.keys()]) await this.#discard(id);
      await Promise.all([...this.#held.values()].map((instance) => instance.destroy()));
    }
    for (const instance of this.#held.values()) instance.release();
    await this.#lock.release();
  }

  async #discard(id: string): Promise<void> {
    const record = this.#stored.get(id);
    if (record === undefined || (await this.adopt(id)) !== undefined) return;
    this.#stored.delete(id);
    const directory = join(this.#paths.instances, record.slot);
    await killTree({ home: join(directory, 'home') });
    await removeTree(directory);
  }

  /** Reserves the id, lets `make` make an instance, and gives it the id; undoes everything when that fails. */
  async #named(options: CreateOptions, make: () => Promise<ProcessInstance>): Promise<Instance> {
    const work = this.#makeNamed(options, make);
    this.#inFlight.add(work);
    try {
      return await work;
    } finally {
      this.#inFlight.delete(work);
    }
  }

  async #makeNamed(options: CreateOptions, make: () => Promise<ProcessInstance>): Promise<Instance> {
    this.#requireOpen();
    options.signal?.throwIfAborted();
    const { id } = options;
    if (this.#layersInFlight.has(id) || this.#held.has(id) || this.#stored.has(id)) {
      throw new DriverError('invalid_spec', 'An instance with this id exists already.');
    }
    this.#layersInFlight.set(id, options.spec.layers);
    try {
      const instance = await make();
      try {
        this.#requireOpen();
        options.signal?.throwIfAborted();
        await instance.handOut({ id, labels: { ...options.spec.labels }, createdAtMs: this.#now() });
      } catch (error) {
        await instance.destroy();
        throw error;
      }
      this.#held.set(id, instance);
      return instance;
    } finally {
      this.#layersInFlight.delete(id);
    }
  }

  async #takePooled(spec: InstanceSpec): Promise<ProcessInstance | undefined> {
    const instance = this.#pool.take(spec);
    await instance?.unpark();
    return instance;
  }

  async #makePooled(spec: InstanceSpec, signal: AbortSignal): Promise<ProcessInstance> {
    await this.layers.require(spec.layers);
    const instance = await this.#make(spec.layers, signal, (home) =>
      this.layers.unpack(spec.layers, home, signal),
    );
    await instance.park();
    return instance;
  }

  /** Makes the directory and boots the daemon in it. */
  async #make(
    layers: string[],
    signal: AbortSignal | undefined,
    fill: (home: string) => Promise<void>,
  ): Promise<ProcessInstance> {
    const slot = randomId();
    const record: StoredInstance = {
      slot,
      id: slot,
      phase: 'making',
      labels: {},
      layers: [...layers],
      createdAtMs: this.#now(),
      frozen: false,
      stoodBefore: [],
    };
    this.#slots.add(slot);
    try {
      const booted = await bootSlot({
        directory: join(this.#paths.instances, slot),
        record,
        daemon: this.#options.daemon,
        boots: this.#boots,
        fill,
        signal,
      });
      return this.#hold(booted.record, booted.child);
    } catch (error) {
      this.#slots.delete(slot);
      throw error;
    }
  }

  #hold(record: StoredInstance, child?: ChildProcess): ProcessInstance {
    this.#slots.add(record.slot);
    const instance: ProcessInstance = new ProcessInstance({
      record,
      directory: join(this.#paths.instances, record.slot),
      stores: this.#stores,
      ...(child === undefined ? {} : { child }),
      destroyed: () => {
        this.#slots.delete(record.slot);
        if (this.#held.get(instance.id) === instance) this.#held.delete(instance.id);
      },
    });
    return instance;
  }

  async #layerInUse(id: string): Promise<boolean> {
    const records = [...this.#stored.values(), ...[...this.#held.values()].map(({ record }) => record)];
    if (records.some(({ layers }) => layers.includes(id))) return true;
    if ([...this.#layersInFlight.values()].some((layers) => layers.includes(id))) return true;
    const checkpoints = await this.#stores.checkpoints.sets.list();
    if (checkpoints.some(({ layers }) => layers.includes(id))) return true;
    await this.#pool.drop((spec) => spec.layers.includes(id));
    return false;
  }

  #now(): number {
    return (this.#options.now ?? Date.now)();
  }

  #requireOpen(): void {
    if (this.#closed) throw new DriverError('create_failed', 'The driver is closed.');
  }
}
