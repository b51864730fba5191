import { KeyedMutex } from '#support/keyed-mutex';
import type { Capabilities } from '../contract/capabilities.js';
import type { CreateOptions, Driver, RestoreOptions, SharedInstances } from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import type { Instance, InstanceSpec } from '../contract/instance.js';
import { DAEMON_PORT } from '../shared/dial-instance.js';
import { InstanceRegistry } from '../shared/instance-registry.js';
import { warmDaemon } from '../shared/readiness.js';
import { RegisteredDriver } from '../shared/registered-driver.js';
import { PlainVolumes } from '../volumes/plain-volumes.js';
import { incusCapabilities } from './capabilities.js';
import type { IncusCheckpoint } from './checkpoint-records.js';
import { translated } from './driver-error.js';
import type { IncusDriverParts } from './driver-parts.js';
import { IncusCheckpoints } from './incus-checkpoints.js';
import { IncusInstance, type IncusOwner, type IncusRecord, readRecord } from './incus-instance.js';
import { IncusLayers } from './incus-layers.js';
import { IncusWatch } from './incus-watch.js';
import { poolKey, recordOf, requireSpec } from './instance-config.js';
import { InstanceMaker } from './instance-maker.js';
import { InstanceStorer } from './instance-storer.js';
import { isOf, keys } from './keys.js';
import { removeOfLost } from './lost-orphans.js';
import { Fences } from './network/fences.js';
import { plugCard, setUpCard } from './network/plug-card.js';
import { removeOrphans } from './orphans.js';
import { IncusVolumes } from './volumes/incus-volumes.js';
import { NO_MOUNTS, type PlacedMounts } from './volumes/place-mounts.js';
import { VolumeAgents } from './volumes/volume-agents.js';
import type { WireInstance } from './wire.js';

/** A machine that is there takes a connection at once, even for a sandbox that is frozen. */
const PROBE_MS = 10_000;

/** Returns true if an instance has this id and has not ended. */
function isLive({ status, config }: WireInstance, id: string): boolean {
  return config[keys.id] === id && config[keys.state] === 'live' && status !== 'Stopped';
}

/** Sandboxes that are system containers on an Incus server or cluster. Made by `createIncusDriver`. */
export class IncusDriver extends RegisteredDriver<IncusInstance, IncusCheckpoint> implements Driver {
  readonly name = 'incus';
  readonly capabilities: Capabilities;
  readonly summary: string;
  readonly layers: IncusLayers;
  readonly volumes: IncusVolumes | PlainVolumes;
  readonly shared: SharedInstances;
  readonly fences: Fences;
  readonly #parts: IncusDriverParts;
  readonly #registry: InstanceRegistry<IncusInstance, IncusCheckpoint>;
  readonly #checkpoints: IncusCheckpoints;
  readonly #mutex = new KeyedMutex();
  readonly #watch: IncusWatch;
  readonly #maker: InstanceMaker;
  readonly #storer: InstanceStorer;
  readonly #agents: VolumeAgents;
  /** Names of instances that are being made: the reaper keeps off. */
  readonly #making = new Set<string>();
  /** Layers whose image is there before they are. */
  readonly #committing = new Set<string>();

  /** @param all what is in the project: an earlier process of the server left some of it. */
  constructor(parts: IncusDriverParts, all: readonly WireInstance[]) {
    super();
    this.#parts = parts;
    this.summary = parts.summary;
    this.capabilities = incusCapabilities(parts);
    const { options, cluster, images, files, owner, pool, diskLimit, mountProblem } = parts;
    const found = all.filter((instance) => isOf(owner, instance));
    this.#checkpoints = new IncusCheckpoints(cluster, {
      records: parts.records,
      recorded: parts.recorded,
      found,
    });
    this.#registry = new InstanceRegistry({
      log: (level, message, fields) => options.log?.(level, message, fields),
      checkpoints: this.#checkpoints,
      poolKey,
      makePooled: (spec, signal) => this.#makePooled(spec, signal),
    });
    const { cleanUp } = this.#registry;
    const making = this.#making;
    const committing = this.#committing;
    this.#maker = new InstanceMaker({
      parts,
      cleanUp,
      making,
      hold: (record) => {
        const instance = new IncusInstance(this.#ownerOf(), record);
        this.#registry.add(instance);
        return instance;
      },
    });
    this.#storer = new InstanceStorer({ parts, checkpoints: this.#checkpoints, cleanUp, making, committing });
    this.fences = new Fences({
      cluster,
      make: (spec, target) =>
        this.#maker.make({ id: undefined, spec, state: 'pooled', signal: undefined, target }),
      relying: () => this.#relyingOnFences(),
      log: (level, message, fields) => options.log?.(level, message, fields),
    });
    this.layers = new IncusLayers({
      files,
      images,
      requireOpen: () => this.#registry.requireOpen(),
      inUse: (id) => this.#registry.isLayerInUse(id),
    });
    this.#agents = new VolumeAgents({ cluster, images, owner, pool, cleanUp, making });
    const plain = new PlainVolumes(parts.volumesDirectory, cleanUp);
    this.volumes =
      mountProblem !== undefined
        ? plain
        : new IncusVolumes({
            cluster,
            custom: parts.customVolumes,
            owner,
            pool,
            limited: diskLimit,
            plain,
            agents: this.#agents,
            cleanUp,
            log: (level, message, fields) => options.log?.(level, message, fields),
          });
    this.shared = {
      clusterId: parts.clusterId,
      holder: owner,
      hasInstance: async (id) => (await this.#findLive(id)) !== undefined,
      hasCheckpoint: async (id) => (await this.#checkpoints.look(id)) !== undefined,
      hasVolume: async (id) => this.volumes instanceof IncusVolumes && this.volumes.has(id),
      hasLayers: (ids) => images.has(ids),
      removeOrphans: (lost) =>
        removeOfLost({
          cluster,
          volumes: this.volumes instanceof IncusVolumes ? this.volumes : undefined,
          images,
          cleanUp,
          lost,
          onFailure: (name, error) =>
            options.log?.('warn', 'what a lost server left could not be removed yet', {
              name,
              error: String(error),
            }),
        }),
      release: async (id) => this.#release(id),
    };
    for (const instance of found) this.#hold(instance);
    this.#learnAddresses(all);
    this.#watch = new IncusWatch({
      cluster,
      instances: () => this.#registry.items,
      answers: (address) =>
        this.#daemonDial(address)(AbortSignal.timeout(PROBE_MS)).then(
          (socket) => {
            socket.on('error', () => undefined).destroy();
            return true;
          },
          () => false,
        ),
      onFound: (all) => {
        this.#learnAddresses(all);
        this.#checkpoints.learn(
          all.filter((instance) => isOf(owner, instance) && !this.#making.has(instance.name)),
        );
      },
      log: (level, message, fields) => options.log?.(level, message, fields),
    });
  }

  protected get registry() {
    return this.#registry;
  }

  create(options: CreateOptions): Promise<Instance> {
    const { id, spec, signal } = options;
    return this.#registry.create(options, {
      check: async () => requireSpec(spec, this.#parts),
      acquire: (instance) => this.#acquire(instance, options),
      make: async () => {
        const mounts = await this.#place(spec);
        return this.#onFencedMember(spec, this.#maker.make({ id, spec, state: 'live', signal, mounts }));
      },
    });
  }

  restore(options: RestoreOptions): Promise<Instance> {
    const { id, spec, signal, memory } = options;
    return this.#registry.restore(options, {
      check: async () => {
        requireSpec(spec, this.#parts);
        if (memory) throw new DriverError('unsupported', 'The memory of a sandbox cannot be restored here.');
      },
      make: async (checkpoint) => {
        const mounts = await this.#place(spec);
        return this.#onFencedMember(
          spec,
          this.#maker.make({ id, spec, state: 'live', signal, checkpoint, mounts }),
        );
      },
    });
  }

  override async adopt(id: string): Promise<Instance | undefined> {
    return (await super.adopt(id)) ?? this.#serialize(`adopt ${id}`, () => this.#takeOver(id));
  }

  async reap(keep: { instanceIds: string[]; checkpointIds: string[] }): Promise<string[]> {
    const removed = await this.#registry.reap(keep);
    await this.volumes.reap();
    return translated(
      async () => [
        ...removed,
        ...(await removeOrphans({
          parts: this.#parts,
          cleanUp: this.#registry.cleanUp,
          instances: () => this.#registry.items,
          checkpoints: this.#checkpoints,
          making: this.#making,
          committing: this.#committing,
        })),
      ],
      {
        code: 'unreachable',
        message: 'The cluster could not be cleaned up.',
      },
    );
  }

  problems(): string[] {
    return this.fences.problems();
  }

  async close(options: { destroyInstances?: boolean } = {}): Promise<void> {
    // Its probes are instances of the registry.
    await this.fences.close();
    if (!(await this.#registry.close(options))) return;
    await this.#watch.close();
    await this.#agents.close();
    this.#parts.memberClients.close();
    this.#parts.cluster.client.close();
    await this.#parts.lock.release();
  }

  /** The number of sandboxes without network access on each member. Frozen sandboxes send nothing and do not count. */
  #relyingOnFences(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const instance of this.#registry.items) {
      const { card, location } = instance.record;
      if (instance.named && instance.running && !instance.frozen && card === 'none')
        counts.set(location, (counts.get(location) ?? 0) + 1);
    }
    return counts;
  }

  async #place({ mounts }: InstanceSpec): Promise<PlacedMounts> {
    return this.volumes instanceof IncusVolumes ? this.volumes.place(mounts) : NO_MOUNTS;
  }

  /** Holds what an earlier process made, or another server. What it did not finish is left to the reaper. */
  #hold(found: WireInstance): IncusInstance | undefined {
    const record = this.#readHeld(found);
    if (record === undefined) return undefined;
    this.#parts.addresses.use(record.address);
    const instance = new IncusInstance(this.#ownerOf(), record, found.status === 'Frozen');
    if (found.status === 'Stopped') instance.finish('exited');
    this.#registry.add(instance);
    return instance;
  }

  /** Reads the record of an instance that is leased and reachable. */
  #readHeld(found: WireInstance): IncusRecord | undefined {
    const record = readRecord(found);
    if (record?.state !== 'live') return undefined;
    const { id, address } = record;
    if (this.#parts.addresses.has(address)) return record;
    this.#parts.options.log?.('warn', 'an instance is not reached: its address is not of the range', {
      id,
      address: address.slice(0, 100),
    });
    return undefined;
  }

  /** Takes hold of an instance that another server had. */
  async #takeOver(id: string): Promise<IncusInstance | undefined> {
    const { cluster, owner } = this.#parts;
    const listed = await this.#findLive(id);
    if (listed === undefined || (await super.adopt(id)) !== undefined) return undefined;
    const failed = { code: 'unreachable', message: 'The sandbox could not be taken over.' } as const;
    return translated(async () => {
      // It may have ended since it was listed, and another may have its name.
      const found = await cluster.find(listed.name);
      if (found === undefined || !isLive(found, id) || this.#readHeld(found) === undefined) return undefined;
      await cluster.patch(found.name, { config: { [keys.owner]: owner } });
      return this.#hold(found);
    }, failed);
  }

  /** @throws {DriverError} `unreachable` while it may be on a member that is away */
  async #findLive(id: string): Promise<WireInstance | undefined> {
    const untold = {
      code: 'unreachable',
      message: 'It is not known whether the sandbox runs, as a machine of the cluster is away.',
    } as const;
    const all = await translated(() => this.#parts.cluster.listLately(), untold);
    const found = all.find((instance) => isLive(instance, id));
    if (found === undefined && all.some(({ status }) => status === 'Error'))
      throw new DriverError(untold.code, untold.message);
    return found;
  }

  #release(id: string): void {
    for (const instance of [...this.#registry.items]) {
      if (instance.id !== id || !instance.named) continue;
      this.#registry.remove(instance);
      this.#parts.addresses.leave(instance.record.address);
    }
  }

  /** Addresses of what other servers have, and of what is about to be reaped. */
  #learnAddresses(all: readonly WireInstance[]): void {
    const own = new Set([...this.#registry.items].map(({ record }) => record.name));
    const others = all.filter(({ name, config }) => !own.has(name) && config[keys.state] !== 'checkpoint');
    this.#parts.addresses.setOthers(others.flatMap(({ devices }) => devices.eth0?.['ipv4.address'] ?? []));
  }

  async #makePooled(spec: InstanceSpec, signal: AbortSignal): Promise<IncusInstance> {
    requireSpec(spec, this.#parts);
    const mounts = await this.#place(spec);
    const instance = await this.#maker.make({ id: undefined, spec, state: 'pooled', signal, mounts });
    try {
      await warmDaemon(this.#daemonDial(instance.record.address));
      await instance.freeze();
      return instance;
    } catch (error) {
      await instance.destroy();
      throw error;
    }
  }

  /** Nobody is given an instance without network access on a member whose fence was not seen to hold. */
  async #onFencedMember(spec: InstanceSpec, making: Promise<IncusInstance>): Promise<IncusInstance> {
    const instance = await making;
    if (spec.network.egress !== 'none') return instance;
    try {
      await this.fences.require(instance.record.location);
      return instance;
    } catch (error) {
      await instance.destroy();
      throw error;
    }
  }

  async #acquire(instance: IncusInstance, { id, spec }: CreateOptions): Promise<void> {
    const { cluster, renameCommand } = this.#parts;
    const { name } = instance.record;
    const createdAtMs = this.#now();
    // While it is frozen: not for a moment does it have another network than was asked for.
    await instance.setNetwork(spec.network);
    await translated(
      async () => {
        const config = recordOf({ state: 'live', id, createdAtMs, spec });
        const recorded = cluster.patch(name, { config });
        // That a card is set up is recorded too, and of two records at once Incus could keep one alone.
        if (instance.record.bare) await recorded;
        await Promise.all([
          // Another call of Incus about the same instance waits for neither.
          recorded,
          instance.thaw().then(() => cluster.execute(name, renameCommand(id))),
        ]);
      },
      { code: 'create_failed', message: 'The sandbox could not be started.' },
    );
    instance.acquired({ id, labels: { ...spec.labels }, createdAtMs });
  }

  #ownerOf(): IncusOwner {
    const { cluster, dial, pool, parent, fenced, setsUpCards } = this.#parts;
    return {
      dial,
      fenced,
      setsUpCards,
      requireFence: (location) => this.fences.require(location),
      requireFenceNotMissing: (location) => this.fences.requireNotMissing(location),
      plugCard: ({ name, address }, mode) => plugCard(cluster, { name, address, parent, mode }),
      setUpCard: (record) => setUpCard(cluster, record),
      setFrozen: (name, frozen) => cluster.changeState(name, frozen ? 'freeze' : 'unfreeze'),
      state: (name) => cluster.state(name),
      resources: (location) => cluster.resources(location),
      poolBytes: (location) => cluster.poolBytes(pool, location),
      checkpoint: (instance, options) => this.#storer.checkpoint(instance, options),
      commitLayer: (instance) => this.#storer.commitLayer(instance),
      dispose: async (instance) => {
        await this.#serialize(instance.record.name, () => this.#maker.discard(instance.record));
        this.#registry.remove(instance);
      },
      look: (instance) => this.#watch.lookAt(instance),
      serialize: (name, task) => this.#serialize(name, task),
    };
  }

  #serialize<T>(name: string, task: () => Promise<T>): Promise<T> {
    return this.#mutex.run(name, task);
  }

  #daemonDial(address: string) {
    return (signal?: AbortSignal) => this.#parts.dial(address, DAEMON_PORT, signal);
  }

  #now(): number {
    return (this.#parts.options.now ?? Date.now)();
  }
}
