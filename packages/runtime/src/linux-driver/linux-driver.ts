import { existsSync } from 'node:fs';
import { KeyedMutex } from '#support/keyed-mutex';
import { Semaphore } from '#support/semaphore';
import type { Capabilities, Isolation } from '../contract/capabilities.js';
import type {
  CreateOptions,
  Driver,
  DriverEgress,
  ForwardedTraffic,
  Layers,
  RefusedPackets,
  RestoreOptions,
  SentBytes,
  StorageUse,
} from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import type { Instance, InstanceSpec } from '../contract/instance.js';
import type { Transfers } from '../contract/transfers.js';
import type { Tools } from '../host/tools.js';
import type { DataDirLock } from '../shared/data-dir-lock.js';
import { randomId } from '../shared/instance-id.js';
import { InstanceRegistry } from '../shared/instance-registry.js';
import { RegisteredDriver } from '../shared/registered-driver.js';
import type { HostVolumes } from '../volumes/content.js';
import { PlainVolumes } from '../volumes/plain-volumes.js';
import { boot } from './boot/boot.js';
import { disposeInstance } from './boot/dispose.js';
import { capabilitiesOf, summaryOf } from './capabilities.js';
import { Admission, readHostMemory, spareBytes } from './cgroups/admission.js';
import type { CheckpointRecord, RestoreTrial } from './checkpoints/checkpoint.js';
import { linuxCheckpoints } from './checkpoints/checkpoints.js';
import { imageDirectory } from './checkpoints/image-directory.js';
import { requireRestorable } from './checkpoints/require-restorable.js';
import type { LinuxHost } from './host/linux-host.js';
import { linuxLayers } from './layers/layers.js';
import { LinuxInstance } from './linux-instance.js';
import { makeTiers, type Tiers } from './make-tiers.js';
import { SentTotals } from './network/sent-totals.js';
import { Parking } from './pool/parking.js';
import { renameInstance } from './pool/rename-machine.js';
import { reapLeaked } from './reap.js';
import { readLayerFacts } from './rootfs/layer-facts.js';
import { withBase } from './rootfs/root-plan.js';
import { pooledSpecOf, poolKey, requireSpec } from './spec.js';
import { type InstanceEntry, isolationOf } from './state/records.js';
import { storageFull } from './store/storage-full.js';
import type { OciTier, Origin } from './tiers/tier.js';
import { linuxTransfers } from './transfer/transfers.js';
import { linuxVolumes } from './volumes.js';

/** More starts at once only make each slower. */
const STARTS_AT_ONCE = 4;
/** Room in the store without which no sandbox is begun, however little of its own disk it uses. */
const MIN_DISK_BYTES = 320 * 2 ** 20;
/** The interval at which the first processes are looked at, ms. */
const WATCH_INTERVAL_MS = 200;
/** The look at who a process is, and not only whether there is one, costs a read of a file: every three seconds. */
const FULL_LOOK_EVERY = 15;

/** Isolated sandboxes on this host: an OCI runtime, overlays, a private network, CRIU. Made by `createLinuxDriver`. */
export class LinuxDriver extends RegisteredDriver<LinuxInstance, CheckpointRecord> implements Driver {
  readonly name = 'linux';
  capabilities: Capabilities;
  readonly summary: string;
  readonly layers: Layers;
  readonly transfers?: Transfers;
  readonly volumes: HostVolumes;
  readonly egress?: DriverEgress;
  readonly #host: LinuxHost;
  readonly #lock: DataDirLock;
  readonly #tiers: Tiers;
  readonly #mutex = new KeyedMutex();
  readonly #starts = new Semaphore(STARTS_AT_ONCE);
  readonly #parking: Parking;
  readonly #admission: Admission;
  /** The memory that trial restores under way may come to use; the kernel knows only a part of it. */
  #triedBytes = 0;
  readonly #registry: InstanceRegistry<LinuxInstance, CheckpointRecord>;
  readonly #watch: NodeJS.Timeout;
  readonly #sent = new SentTotals();

  constructor(host: LinuxHost, tools: Tools, lock: DataDirLock) {
    super();
    this.#host = host;
    this.#lock = lock;
    this.#tiers = makeTiers(host, tools);
    const tier = this.#tiers[host.isolation];
    this.#parking = new Parking(host);
    this.#admission = new Admission(() => {
      const { memoryBytes, pids } = host.cgroups.total();
      return {
        memory: readHostMemory(),
        usedMemoryBytes: memoryBytes,
        usedPids: pids,
        budget: host.budget,
      };
    });
    this.#registry = new InstanceRegistry({
      log: (level, message, fields) => host.log(level, message, fields),
      checkpoints: linuxCheckpoints(host, (name, task) => this.#registry.cleanUp.attempt(name, task)),
      poolKey,
      makePooled: async (spec, signal) => {
        await this.#check(spec);
        return this.#makeFresh(undefined, spec, signal);
      },
      poolGrowth: {
        pooledSpecOf: (spec) => (this.#isolationOf(spec) === 'container' ? pooledSpecOf(spec) : undefined),
        bytesOf: ({ entry }) => host.cgroups.usage(entry.name).memoryBytes,
        freeBytes: () => this.#spareBytes(),
      },
    });
    this.capabilities = capabilitiesOf(host, tier);
    this.summary = summaryOf(host, tools, tier);
    if (host.egress !== undefined && this.capabilities.egressPolicy) this.egress = host.egress;
    const { transferKey } = host.options;
    if (transferKey !== undefined) this.transfers = linuxTransfers(host, this.#tiers, transferKey);
    this.layers = linuxLayers(host, (id) => this.#registry.isLayerInUse(id));
    this.volumes =
      host.store.kind === 'btrfs'
        ? linuxVolumes(host, this.#registry.cleanUp)
        : new PlainVolumes(host.paths.volumes, this.#registry.cleanUp, (id) =>
            host.volumeProcess.content(id),
          );
    if (host.store.kind === 'btrfs' && existsSync(host.paths.volumes))
      host.log('warn', 'volumes of an earlier version are not in the store: copy what is needed of them', {
        directory: host.paths.volumes,
      });
    this.#recover();
    let looks = 0;
    this.#watch = setInterval(() => {
      const how = looks++ % FULL_LOOK_EVERY === 0 ? 'full' : 'often';
      for (const instance of this.#registry.items) instance.check(how);
    }, WATCH_INTERVAL_MS);
    this.#watch.unref();
    host.space.start();
    host.named = () => [...this.#registry.items].filter(({ named }) => named).map(({ entry }) => entry);
    host.shares.start();
  }

  /**
   * Makes no checkpoints with memory any more, and restores none, because a trial showed that it does not work here.
   * @param problem the reason, as one sentence.
   */
  withoutMemory(problem: string): void {
    const tier = this.#tiers[this.#host.isolation];
    tier.memoryProblem = problem;
    this.capabilities = capabilitiesOf(this.#host, tier);
    this.#host.log('error', problem);
  }

  protected get registry() {
    return this.#registry;
  }

  async create(options: CreateOptions): Promise<Instance> {
    const instance = await this.#registry.create(options, {
      check: () => this.#check(options.spec),
      acquire: ({ entry }) => this.#parking.acquire(entry, options),
      make: () => this.#host.space.withRoom(() => this.#makeFresh(options.id, options.spec, options.signal)),
    });
    this.#sent.hold(instance.entry.lease, instance.id);
    return instance;
  }

  async restore(options: RestoreOptions): Promise<Instance> {
    const { memory, signal } = options;
    const restored = await this.#registry.restore(options, {
      check: () => this.#check(options.spec),
      make: async (checkpoint) => {
        if (memory && !checkpoint.memory)
          throw new DriverError('unsupported', 'The checkpoint holds no memory.');
        if (memory) await requireRestorable(this.#host, this.#tiers, checkpoint, options.spec);
        const spec = { ...options.spec, layers: checkpoint.layers };
        const origin = {
          kind: 'checkpoint',
          checkpointId: checkpoint.id,
          memory,
          images: imageDirectory(this.#host, checkpoint),
          // gVisor's stored memory refers to the files that it had open.
          renumber: checkpoint.numbered !== true && !(memory && checkpoint.isolation === 'gvisor'),
        } as const;
        const instance = await this.#restoring(checkpoint.id, signal, () =>
          this.#make(options.id, spec, origin, signal, memory ? checkpoint : undefined),
        );
        if (memory && checkpoint.hostname !== undefined) {
          renameInstance(this.#host, instance.entry, checkpoint.hostname);
          await this.#tierOf(instance.entry).nameRestored(instance.entry, instance.id);
        }
        return instance;
      },
    });
    this.#sent.hold(restored.entry.lease, restored.id);
    return restored;
  }

  /** Memory has no second copy: what failed on a busy host, and not for what is stored, is worth another try. */
  async #restoring<T>(id: string, signal: AbortSignal | undefined, task: () => Promise<T>): Promise<T> {
    const make = () => this.#host.space.withRoom(task);
    return make().catch((error: unknown) => {
      if (!DriverError.is(error) || error.code !== 'restore_failed') throw error;
      signal?.throwIfAborted();
      const { code, detail } = error;
      this.#host.log('warn', 'a restore is tried again', { checkpoint: id, code, detail });
      return make();
    });
  }

  /** Memory that one more sandbox could have. */
  #spareBytes(): number {
    const { cgroups, budget } = this.#host;
    return spareBytes({ memory: readHostMemory(), usedMemoryBytes: cgroups.total().memoryBytes, budget });
  }

  /** @see InstanceOwner.tryRestore */
  async #tryRestore({ name, spec }: InstanceEntry, draft: RestoreTrial, signal?: AbortSignal): Promise<void> {
    const { checkpoint, checkpointId, images } = draft;
    const untried = (why: string) =>
      this.#host.log('warn', 'stored memory is not tried, for want of room', {
        checkpoint: checkpoint.id,
        why,
      });
    const { memoryBytes, memoryCacheBytes } = this.#host.cgroups.usage(name);
    const wanted = memoryBytes - memoryCacheBytes;
    // On a host without room for its memory twice, the kernel would end programs of any sandbox. Trials at the same time share what there is.
    if (this.#spareBytes() < this.#triedBytes + wanted) return untried('memory');
    const origin = {
      kind: 'checkpoint',
      checkpointId,
      memory: true,
      images,
      renumber: false,
      trial: true,
    } as const;
    this.#triedBytes += wanted;
    try {
      await this.#restoring(checkpoint.id, signal, async () => {
        const trial = await this.#make(
          undefined,
          { ...spec, layers: checkpoint.layers },
          origin,
          signal,
          checkpoint,
        );
        await trial.destroy();
      });
    } catch (error) {
      // Others may have taken the last address, the last range of ids or the disk: what is stored is no worse for that.
      if (!DriverError.is(error) || (error.code !== 'no_capacity' && error.code !== 'storage_full'))
        throw error;
      untried(error.message);
    } finally {
      this.#triedBytes -= wanted;
    }
  }

  async storage(): Promise<StorageUse> {
    await this.#host.up();
    return this.#host.space.use();
  }

  async refusedPackets(): Promise<RefusedPackets[]> {
    const byLease = this.#idsByLease();
    if (byLease.size === 0) return [];
    const refusals = await this.#host.network.refusals(await this.#host.up());
    return refusals.flatMap(({ lease, reason, packets }) => {
      const instanceId = byLease.get(lease);
      return instanceId === undefined ? [] : [{ instanceId, reason, packets }];
    });
  }

  async sentBytes(): Promise<SentBytes[]> {
    return this.#sent.take(await this.#host.network.sent(await this.#host.up()), this.#idsByLease());
  }

  async forwardedTraffic(): Promise<ForwardedTraffic[]> {
    const byLease = this.#idsByLease();
    if (byLease.size === 0) return [];
    const traffic = await this.#host.network.forwarded(await this.#host.up());
    return traffic.flatMap(({ lease, ...counts }) => {
      const instanceId = byLease.get(lease);
      return instanceId === undefined ? [] : [{ instanceId, ...counts }];
    });
  }

  #idsByLease(): Map<number, string> {
    return new Map(
      [...this.#registry.items]
        .filter(({ named, running }) => named && running)
        .map((instance) => [instance.entry.lease, instance.id]),
    );
  }

  async reap(keep: { instanceIds: string[]; checkpointIds: string[] }): Promise<string[]> {
    const removed = await this.#registry.reap(keep);
    await this.#host.background.idle();
    const known = new Set([...this.#registry.items].map(({ entry }) => entry.name));
    removed.push(...(await reapLeaked(this.#host, known, this.#registry.cleanUp)));
    await this.volumes.reap();
    return removed;
  }

  async close(options: { destroyInstances?: boolean } = {}): Promise<void> {
    if (!(await this.#registry.close(options))) return;
    clearInterval(this.#watch);
    this.#host.shares.stop();
    await this.#host.space.stop();
    await this.#mutex.idle();
    await this.#host.background.idle();
    if (this.#host.records.all().length === 0) await this.#host.down();
    await this.#host.close();
    await this.#lock.release();
  }

  /** @throws {DriverError} `invalid_spec`, `no_capacity`, `storage_full` */
  async #check(spec: InstanceSpec): Promise<void> {
    requireSpec(spec, this.#host.governProblem);
    const problem = this.#tiers[this.#isolationOf(spec)].problem;
    if (problem !== undefined) throw new DriverError('unsupported', problem);
    for (const { volumeId } of spec.mounts)
      if (volumeId !== undefined && !existsSync(await this.volumes.path(volumeId)))
        throw new DriverError('invalid_spec', 'The volume of a mount does not exist.');
    const { limits } = spec;
    await this.#host.space.require(Math.min((limits.diskMiB ?? Infinity) * 2 ** 20, MIN_DISK_BYTES));
    this.#admission.require(limits);
  }

  /** Takes hold of what an earlier process left: running instances live on, half-made and pooled ones go. */
  #recover(): void {
    for (const entry of this.#host.records.all()) {
      this.#host.network.reserve(entry.lease);
      if (entry.firstId !== undefined) this.#host.ids?.reserve(entry.firstId);
      const instance = this.#add(entry);
      if (entry.held === true && instance.running)
        void this.#registry.cleanUp.attempt(`thaw ${entry.name}`, async () => {
          await this.#tierOf(entry).letGo(entry);
          delete entry.held;
          this.#host.records.write(entry);
        });
      if (entry.state === 'live') instance.check();
      else this.#host.background.add(instance.destroy());
    }
  }

  #isolationOf({ isolation = this.#host.isolation }: InstanceSpec): Isolation {
    return isolation;
  }

  #tierOf(entry: InstanceEntry): OciTier {
    return this.#tiers[isolationOf(entry)];
  }

  #add(entry: InstanceEntry): LinuxInstance {
    const instance = new LinuxInstance(
      {
        host: this.#host,
        tier: this.#tierOf(entry),
        serialize: (name, task) => this.#mutex.run(name, task),
        dispose: (each) => this.#dispose(each),
        tryRestore: (entry, draft, signal) => this.#tryRestore(entry, draft, signal),
      },
      entry,
    );
    this.#registry.add(instance);
    return instance;
  }

  /** @throws {DriverError} `unsupported` while there is no base to stand on. */
  async #makeFresh(id: string | undefined, spec: InstanceSpec, signal?: AbortSignal): Promise<LinuxInstance> {
    const host = this.#host;
    await host.up();
    const layers = withBase(spec.layers, {
      facts: (layer) => readLayerFacts(host.store, layer),
      fresh: () => host.bases.fresh(),
    });
    return this.#make(id, { ...spec, layers }, { kind: 'fresh' }, signal);
  }

  /**
   * Boots an instance; without an id it goes to the pool, frozen. A failure is undone. One that was made for a trial is dead.
   * @param stored whose memory it gets.
   */
  async #make(
    id: string | undefined,
    spec: InstanceSpec,
    origin: Origin,
    signal?: AbortSignal,
    stored?: CheckpointRecord,
  ): Promise<LinuxInstance> {
    const host = this.#host;
    const keeper = await host.up();
    const trial = origin.kind === 'checkpoint' && origin.trial === true;
    const isolation = stored === undefined ? this.#isolationOf(spec) : isolationOf(stored);
    const { lease, firstId } = this.#takeNumbers(isolation, trial ? undefined : stored?.addresses?.[0]);
    const entry: InstanceEntry = {
      name: `s${randomId()}`,
      ...(id === undefined ? {} : { id }),
      state: 'making',
      spec,
      isolation,
      lease,
      ...(stored?.addresses === undefined ? {} : { formerAddresses: stored.addresses }),
      ...(firstId === undefined ? {} : { firstId }),
      createdAtMs: host.now(),
      agent: stored?.agent ?? host.agent!.name,
      layers: spec.layers,
      numbered:
        stored === undefined || stored.numbered === true || (origin.kind === 'checkpoint' && origin.renumber),
    };
    host.records.write(entry);
    const tier = this.#tierOf(entry);
    const instance = this.#add(entry);
    try {
      await this.#starts.run(() => {
        signal?.throwIfAborted();
        return boot(host, tier, keeper, entry, id ?? entry.name, origin, signal);
      });
      if (trial) return instance;
      if (id === undefined) await this.#parking.park(tier, entry);
      entry.state = id === undefined ? 'pooled' : 'live';
      host.records.write(entry);
      return instance;
    } catch (error) {
      await instance.destroy();
      throw storageFull(error);
    }
  }

  /** @throws {DriverError} `no_capacity`, and nothing is taken then */
  #takeNumbers(isolation: Isolation, address: string | undefined) {
    const { ids, network } = this.#host;
    const firstId = this.#tiers[isolation].ownIds ? ids?.take() : undefined;
    try {
      return { lease: network.take(address), firstId };
    } catch (error) {
      ids?.release(firstId);
      throw error;
    }
  }

  async #dispose(instance: LinuxInstance): Promise<void> {
    const { entry } = instance;
    const oom = !instance.running && this.#host.cgroups.oomKills(entry.name) > 0;
    instance.finish(oom ? 'oom' : 'destroyed');
    await this.#parking.forget(entry.name);
    const cleanUp = await disposeInstance(this.#host, entry, this.#registry.cleanUp);
    this.#registry.remove(instance);
    this.#host.background.add(cleanUp());
  }
}
