import type { Capabilities } from '../contract/capabilities.js';
import type {
  CreateOptions,
  Driver,
  Layers,
  PoolRequest,
  RestoreOptions,
  StorageUse,
  VolumeDirectories,
} from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import type { Instance, InstanceRecord, InstanceSpec } from '../contract/instance.js';
import type { Tools } from '../host/tools.js';
import type { DataDirLock } from '../shared/data-dir-lock.js';
import { randomId, requireCheckpointId, requireInstanceId } from '../shared/instance-id.js';
import { KeyedMutex } from '../shared/keyed-mutex.js';
import { RetryLater } from '../shared/retry-later.js';
import { Semaphore } from '../shared/semaphore.js';
import { requireLabels } from '../shared/spec-rules.js';
import { WarmPool } from '../shared/warm-pool.js';
import { boot } from './boot/boot.js';
import { disposeInstance } from './boot/dispose.js';
import type { Origin } from './boot/origin.js';
import { capabilitiesOf, summaryOf } from './capabilities.js';
import { readHostMemory, requireRoom } from './cgroups/admission.js';
import { CheckpointCatalog } from './checkpoints/checkpoint-catalog.js';
import type { LinuxHost } from './host/linux-host.js';
import { linuxLayers } from './layers/layers.js';
import { LinuxInstance } from './linux-instance.js';
import { SpareInstances } from './pool/pooled-instances.js';
import { renameInstance } from './pool/rename-machine.js';
import { reapLeftovers } from './reap.js';
import { poolKey, requireSpec } from './spec.js';
import type { InstanceEntry } from './state/records.js';
import { storageFull } from './store/storage-full.js';
import { linuxVolumes, removeGoneVolumes } from './volumes.js';

/** More starts at once only make each slower. */
const STARTS_AT_ONCE = 4;
/** Room in the store without which no sandbox is begun, however little of its own disk it uses. */
const MIN_DISK_BYTES = 320 * 2 ** 20;
/** How often the first processes are looked at, ms. */
const WATCH_INTERVAL_MS = 200;

/** Isolated sandboxes on this host: an OCI runtime, overlays, a private network, CRIU. Made by `createLinuxDriver`. */
export class LinuxDriver implements Driver {
  readonly name = 'linux';
  readonly capabilities: Capabilities;
  readonly summary: string;
  readonly layers: Layers;
  readonly volumes: VolumeDirectories | undefined;
  readonly #host: LinuxHost;
  readonly #lock: DataDirLock;
  readonly #mutex = new KeyedMutex();
  readonly #starts = new Semaphore(STARTS_AT_ONCE);
  /** By name; pooled ones too. */
  readonly #instances = new Map<string, LinuxInstance>();
  readonly #spares: SpareInstances;
  /** Ids that are being made. */
  readonly #claimed = new Set<string>();
  readonly #cleanUp: RetryLater;
  readonly #checkpoints: CheckpointCatalog;
  readonly #pool: WarmPool<InstanceSpec, LinuxInstance>;
  readonly #watch: NodeJS.Timeout;
  #closed = false;

  constructor(host: LinuxHost, tools: Tools, lock: DataDirLock) {
    this.#host = host;
    this.#lock = lock;
    this.#spares = new SpareInstances(host);
    this.#cleanUp = new RetryLater({
      onFailure: (name, error) =>
        host.log('warn', 'clean-up failed and will be tried again', { what: name, ...reasonOf(error) }),
    });
    this.#checkpoints = new CheckpointCatalog(host, this.#cleanUp);
    this.capabilities = capabilitiesOf(host, tools);
    this.summary = summaryOf(host, tools);
    this.layers = linuxLayers(host, (id) => this.#layerInUse(id));
    this.volumes = host.store.kind === 'btrfs' ? linuxVolumes(host, this.#cleanUp) : undefined;
    this.#pool = new WarmPool({
      keyOf: poolKey,
      make: (spec, signal) => this.#make(undefined, spec, { kind: 'fresh' }, signal),
      discard: (instance) => instance.destroy(),
      usable: (instance) => instance.running,
      onFailure: (error) =>
        host.log('warn', 'an instance for the pool could not be made', { error: String(error) }),
    });
    this.#recover();
    this.#watch = setInterval(() => {
      for (const instance of this.#instances.values()) instance.check();
    }, WATCH_INTERVAL_MS);
    this.#watch.unref();
    host.space.start();
  }

  async create(options: CreateOptions): Promise<Instance> {
    return this.#claiming(options, async () => {
      requireSpec(options.spec);
      await this.#requireRoom(options.spec);
      const pooled = this.#pool.take(options.spec);
      if (pooled !== undefined) {
        try {
          await this.#spares.handOut(pooled.entry, options);
          return pooled;
        } catch (error) {
          this.#host.log('warn', 'a pooled instance could not be used', { error: String(error) });
          await pooled.destroy();
        }
      }
      return this.#pool.yieldTo(() =>
        this.#make(options.id, options.spec, { kind: 'fresh' }, options.signal),
      );
    });
  }

  async restore(options: RestoreOptions): Promise<Instance> {
    const checkpointId = requireCheckpointId(options.checkpointId);
    return this.#claiming(options, async () => {
      requireSpec(options.spec);
      await this.#requireRoom(options.spec);
      const record = await this.#checkpoints.get(checkpointId);
      if (options.memory && !record.memory) {
        throw new DriverError('unsupported', 'The checkpoint holds no memory.');
      }
      if (options.memory && !this.capabilities.memorySnapshot) {
        throw new DriverError('unsupported', 'Memory cannot be restored on this host.');
      }
      const spec = { ...options.spec, layers: record.layers };
      const origin = { kind: 'checkpoint', checkpointId, memory: options.memory } as const;
      const agent = options.memory ? record.agent : undefined;
      const instance = await this.#checkpoints.whileRestoring(checkpointId, () =>
        this.#pool.yieldTo(() => this.#make(options.id, spec, origin, options.signal, agent)),
      );
      if (options.memory && record.hostname !== undefined)
        renameInstance(this.#host, instance.entry, record.hostname);
      return instance;
    });
  }

  async storage(): Promise<StorageUse> {
    await this.#host.up();
    return this.#host.space.use();
  }

  async list(): Promise<InstanceRecord[]> {
    return this.#living().map((instance) => ({
      id: instance.id,
      state: !instance.running ? 'dead' : instance.frozen ? 'frozen' : 'running',
      labels: instance.labels,
      createdAtMs: instance.entry.createdAtMs,
    }));
  }

  async adopt(id: string): Promise<Instance | undefined> {
    const instance = this.#living().find((each) => each.id === id);
    return instance?.running === true ? instance : undefined;
  }

  async reap(keep: { instanceIds: string[]; checkpointIds: string[] }): Promise<string[]> {
    const removed: string[] = [];
    for (const instance of this.#living()) {
      if (keep.instanceIds.includes(instance.id) && instance.running) continue;
      if (await this.#cleanUp.attempt(`instance ${instance.id}`, () => instance.destroy()))
        removed.push(`instance ${instance.id}`);
    }
    for (const { id } of await this.#checkpoints.all()) {
      if (keep.checkpointIds.includes(id) || this.#checkpoints.isRestoring(id)) continue;
      if (await this.#cleanUp.attempt(`checkpoint ${id}`, () => this.#checkpoints.delete(id)))
        removed.push(`checkpoint ${id}`);
    }
    await this.#host.background.idle();
    removed.push(
      ...(await reapLeftovers(
        this.#host,
        new Set(this.#instances.keys()),
        await this.#checkpoints.all(),
        this.#cleanUp,
      )),
    );
    if (this.volumes !== undefined) await removeGoneVolumes(this.#host, this.#cleanUp);
    return removed;
  }

  async listCheckpoints(): Promise<{ id: string; memory: boolean; sizeBytes: number }[]> {
    const found = await this.#checkpoints.all();
    return found.map(({ id, memory, sizeBytes }) => ({ id, memory, sizeBytes }));
  }

  deleteCheckpoint(checkpointId: string): Promise<void> {
    return this.#checkpoints.delete(checkpointId);
  }

  setPool(requests: PoolRequest[]): void {
    this.#pool.setWishes(requests.map(({ spec, size }) => ({ wish: spec, size })));
  }

  poolReady(): Promise<void> {
    return this.#pool.ready();
  }

  async close(options: { destroyInstances?: boolean } = {}): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#pool.close();
    if (options.destroyInstances === true)
      await Promise.all(this.#living().map((instance) => instance.destroy()));
    clearInterval(this.#watch);
    this.#cleanUp.close();
    await this.#host.space.stop();
    await this.#mutex.idle();
    await this.#host.background.idle();
    if (this.#host.records.all().length === 0) await this.#host.down();
    await this.#host.release();
    await this.#lock.release();
  }

  /** @throws {DriverError} `no_capacity`, `storage_full` */
  async #requireRoom({ limits }: InstanceSpec): Promise<void> {
    await this.#host.space.require(Math.min((limits.diskMiB ?? Infinity) * 2 ** 20, MIN_DISK_BYTES));
    const { memoryBytes, pids } = this.#host.cgroups.total();
    requireRoom(limits, {
      memory: readHostMemory(),
      usedMemoryBytes: memoryBytes,
      usedPids: pids,
      budget: this.#host.budget,
    });
  }

  #living(): LinuxInstance[] {
    return [...this.#instances.values()].filter((instance) => instance.entry.state === 'live');
  }

  /** Takes hold of what an earlier process left: running instances live on, half-made and pooled ones go. */
  #recover(): void {
    for (const entry of this.#host.records.all()) {
      this.#host.network.reserve(entry.lease);
      const instance = this.#track(entry);
      if (entry.held === true && instance.running)
        void this.#cleanUp.attempt(`thaw ${entry.name}`, async () => {
          this.#host.cgroups.thaw(entry.name);
          delete entry.held;
          this.#host.records.write(entry);
        });
      if (entry.state === 'live') instance.check();
      else this.#host.background.add(instance.destroy());
    }
  }

  #track(entry: InstanceEntry): LinuxInstance {
    const instance = new LinuxInstance(
      {
        host: this.#host,
        serialize: (name, task) => this.#mutex.run(name, task),
        dispose: (each) => this.#dispose(each),
      },
      entry,
    );
    this.#instances.set(entry.name, instance);
    return instance;
  }

  async #claiming<T>(options: CreateOptions, task: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new DriverError('unsupported', 'The driver is closed.');
    const id = requireInstanceId(options.id);
    requireLabels(options.spec.labels);
    options.signal?.throwIfAborted();
    if (this.#claimed.has(id) || this.#living().some((instance) => instance.id === id && instance.running)) {
      throw new DriverError('invalid_spec', `There is an instance "${id}" already.`);
    }
    this.#claimed.add(id);
    try {
      return await task();
    } finally {
      this.#claimed.delete(id);
    }
  }

  /** Boots an instance; without an id it goes to the pool, frozen. Whatever fails is undone. */
  async #make(
    id: string | undefined,
    spec: InstanceSpec,
    origin: Origin,
    signal?: AbortSignal,
    agent?: string,
  ): Promise<LinuxInstance> {
    const host = this.#host;
    const keeper = await host.up();
    const lease = host.network.take();
    const entry: InstanceEntry = {
      name: `s${randomId()}`,
      ...(id === undefined ? {} : { id }),
      state: 'making',
      spec,
      lease,
      createdAtMs: host.now(),
      agent: agent ?? host.agent!.name,
      layers: spec.layers,
    };
    host.records.write(entry);
    const instance = this.#track(entry);
    try {
      await this.#starts.run(() => {
        signal?.throwIfAborted();
        return boot(host, keeper, entry, id ?? entry.name, origin, signal);
      });
      if (id === undefined) await this.#spares.rest(instance.entry);
      entry.state = id === undefined ? 'pooled' : 'live';
      host.records.write(entry);
      return instance;
    } catch (error) {
      await instance.destroy();
      throw storageFull(error);
    }
  }

  async #dispose(instance: LinuxInstance): Promise<void> {
    const { entry } = instance;
    const oom = !instance.running && this.#host.cgroups.oomKills(entry.name) > 0;
    instance.finish(oom ? 'oom' : 'destroyed');
    await this.#spares.forget(entry.name);
    const cleanUp = await disposeInstance(this.#host, entry, this.#cleanUp);
    this.#instances.delete(entry.name);
    this.#host.background.add(cleanUp());
  }

  async #layerInUse(id: string): Promise<boolean> {
    if ([...this.#instances.values()].some((instance) => instance.entry.layers.includes(id))) return true;
    await this.#pool.drop((spec) => spec.layers.includes(id));
    return (await this.#checkpoints.all()).some((record) => record.layers.includes(id));
  }
}

function reasonOf(error: unknown): Record<string, unknown> {
  return DriverError.is(error) ? { error: error.message, detail: error.detail } : { error: String(error) };
}
