import type { ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Semaphore } from '#support/semaphore';
import type { Capabilities } from '../contract/capabilities.js';
import type { CreateOptions, Driver, DriverOptions, RestoreOptions } from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import type { Instance, InstanceSpec } from '../contract/instance.js';
import { copyTree } from '../shared/copy-tree.js';
import type { DataDirLock } from '../shared/data-dir-lock.js';
import { randomId } from '../shared/instance-id.js';
import { InstanceRegistry } from '../shared/instance-registry.js';
import { RegisteredDriver } from '../shared/registered-driver.js';
import { PlainVolumes } from '../volumes/plain-volumes.js';
import { bootSlot } from './boot-slot.js';
import { CAPABILITIES, requireSpec } from './capabilities.js';
import { CheckpointStore, type ProcessCheckpoint } from './checkpoint-store.js';
import { LayerStore } from './layer-store.js';
import type { Paths } from './paths.js';
import { ProcessInstance, type Stores } from './process-instance.js';
import { reapLeaked } from './reap.js';
import type { StoredInstance } from './record.js';

/** Sandboxes that are plain processes. Made by `createProcessDriver`. */
export class ProcessDriver extends RegisteredDriver<ProcessInstance, ProcessCheckpoint> implements Driver {
  readonly name = 'process';
  readonly capabilities: Capabilities = CAPABILITIES;
  readonly summary = `process: plain processes of this machine, no isolation; Node ${process.version}`;
  readonly layers: LayerStore;
  readonly volumes: PlainVolumes;
  readonly #options: DriverOptions;
  readonly #lock: DataDirLock;
  readonly #paths: Paths;
  readonly #stores: Stores;
  readonly #boots = new Semaphore(Math.max(2, availableParallelism()));
  readonly #registry: InstanceRegistry<ProcessInstance, ProcessCheckpoint>;
  /** Slots that are being filled: the reaper keeps off. */
  readonly #making = new Set<string>();

  /** @param records of instances that an earlier process of the server made. */
  constructor(options: DriverOptions, lock: DataDirLock, paths: Paths, records: Iterable<StoredInstance>) {
    super();
    this.#options = options;
    this.#lock = lock;
    this.#paths = paths;
    this.layers = new LayerStore({
      paths,
      requireOpen: () => this.#registry.requireOpen(),
      inUse: (id) => this.#registry.isLayerInUse(id),
    });
    this.#stores = { layers: this.layers, checkpoints: new CheckpointStore(paths) };
    this.#registry = new InstanceRegistry({
      log: (level, message, fields) => options.log?.(level, message, fields),
      checkpoints: this.#stores.checkpoints.sets,
      poolKey: (spec) => spec.layers.join('/'),
      makePooled: (spec, signal) => this.#makePooled(spec, signal),
    });
    this.volumes = new PlainVolumes(paths.volumes, this.#registry.cleanUp);
    for (const record of records) this.#hold(record);
  }

  protected get registry() {
    return this.#registry;
  }

  create(options: CreateOptions): Promise<Instance> {
    const { spec, signal } = options;
    return this.#registry.create(options, {
      check: async () => {
        requireSpec(options);
        await this.layers.require(spec.layers);
      },
      acquire: async (instance) => {
        await instance.unpark();
        await this.#name(instance, options);
      },
      make: async () => {
        const instance = await this.#make(spec.layers, signal, (home) =>
          this.layers.unpack(spec.layers, home, signal),
        );
        return this.#name(instance, options);
      },
    });
  }

  restore(options: RestoreOptions): Promise<Instance> {
    const { sets } = this.#stores.checkpoints;
    return this.#registry.restore(options, {
      check: async () => {
        requireSpec(options);
        if (options.memory) throw new DriverError('unsupported', 'This driver cannot restore memory.');
      },
      make: async ({ id, layers }) => {
        const instance = await this.#make(layers, options.signal, (home) =>
          copyTree(sets.filesOf(id), home, options.signal),
        );
        return this.#name(instance, options);
      },
    });
  }

  async reap(keep: { instanceIds: string[]; checkpointIds: string[] }): Promise<string[]> {
    const removed = await this.#registry.reap(keep);
    const known = new Set(this.#making);
    for (const { record } of this.#registry.items) known.add(record.slot);
    await this.volumes.reap();
    return [...removed, ...(await reapLeaked(this.#paths, known, this.#registry.cleanUp))];
  }

  async close(options: { destroyInstances?: boolean } = {}): Promise<void> {
    if (!(await this.#registry.close(options))) return;
    for (const instance of this.#registry.items) instance.release();
    await this.#lock.release();
  }

  async #makePooled(spec: InstanceSpec, signal: AbortSignal): Promise<ProcessInstance> {
    await this.layers.require(spec.layers);
    const instance = await this.#make(spec.layers, signal, (home) =>
      this.layers.unpack(spec.layers, home, signal),
    );
    await instance.park();
    return instance;
  }

  /** Gives an instance to somebody. It is destroyed when that fails. */
  async #name(instance: ProcessInstance, { id, spec }: CreateOptions): Promise<ProcessInstance> {
    try {
      await instance.acquire({ id, labels: { ...spec.labels }, createdAtMs: this.#now() });
      return instance;
    } catch (error) {
      await instance.destroy();
      throw error;
    }
  }

  /** Makes the directory and boots the daemon in it. */
  async #make(
    layers: readonly string[],
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
    this.#making.add(slot);
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
    } finally {
      this.#making.delete(slot);
    }
  }

  #hold(record: StoredInstance, child?: ChildProcess): ProcessInstance {
    const instance: ProcessInstance = new ProcessInstance({
      record,
      directory: join(this.#paths.instances, record.slot),
      stores: this.#stores,
      ...(child === undefined ? {} : { child }),
      destroyed: () => this.#registry.remove(instance),
    });
    this.#registry.add(instance);
    return instance;
  }

  #now(): number {
    return (this.#options.now ?? Date.now)();
  }
}
