import { KeyedMutex } from '#support/keyed-mutex';
import { Semaphore } from '#support/semaphore';
import type { Capabilities } from '../contract/capabilities.js';
import type { CreateOptions, Driver, RestoreOptions, SharedInstances } from '../contract/driver.js';
import { DriverError, type DriverErrorCode } from '../contract/errors.js';
import type {
  Checkpoint,
  CheckpointOptions,
  Instance,
  InstanceSpec,
  LayerInfo,
} from '../contract/instance.js';
import { IncusError } from '../incus/incus-error.js';
import type { DataDirLock } from '../shared/data-dir-lock.js';
import { DAEMON_PORT } from '../shared/dial-instance.js';
import { randomId } from '../shared/instance-id.js';
import { InstanceRegistry } from '../shared/instance-registry.js';
import { waitForDaemon, warmDaemon } from '../shared/readiness.js';
import { RegisteredDriver } from '../shared/registered-driver.js';
import { PlainVolumes } from '../volumes/plain-volumes.js';
import type { Addresses } from './addresses.js';
import { incusCapabilities } from './capabilities.js';
import type { CheckpointRecords, IncusCheckpoint } from './checkpoint-records.js';
import { driverError, isNameTaken, translated } from './driver-error.js';
import type { Images } from './image/images.js';
import type { LayerFiles } from './image/layer-files.js';
import { IncusCheckpoints } from './incus-checkpoints.js';
import type { IncusCluster } from './incus-cluster.js';
import { IncusInstance, type IncusOwner, type IncusRecord, readRecord } from './incus-instance.js';
import { IncusLayers } from './incus-layers.js';
import { IncusWatch } from './incus-watch.js';
import { instanceConfig, instanceDevices, poolKey, recordOf, requireSpec } from './instance-config.js';
import { checkpointName, imageKeys, isOf, keys, sandboxName } from './keys.js';
import type { IncusDriverOptions } from './options.js';
import type { DialAddress } from './reach.js';
import type { WireInstance } from './wire.js';

const BOOT_TIMEOUT_MS = 120_000;
/** A machine that is there takes a connection at once, even for a sandbox that is frozen. */
const PROBE_MS = 10_000;
/** Starts at once: each member has its own processors, and Incus' database takes changes one after another. */
const BOOTS = 6;
/** Addresses that are tried for one instance, when other servers take them at the same moment. */
const ADDRESS_TRIES = 8;

export interface IncusDriverParts {
  options: IncusDriverOptions;
  lock: DataDirLock;
  cluster: IncusCluster;
  images: Images;
  files: LayerFiles;
  addresses: Addresses;
  dial: DialAddress;
  owner: string;
  /** Equal for all drivers on this project of this cluster. */
  clusterId: string;
  pool: string;
  parent: string;
  /** Whether the storage pool has quotas. */
  diskLimit: boolean;
  /** Command line of the first process of an instance. @param memoryMiB that it sees; absent: all */
  command(memoryMiB: number | undefined): readonly string[];
  /** For setting the host name inside; undefined where the daemon's directory has no such program. */
  renameCommand: ((name: string) => readonly string[]) | undefined;
  summary: string;
  volumesDirectory: string;
  records: CheckpointRecords;
  recorded: readonly IncusCheckpoint[];
}

interface MakeOptions {
  /** Undefined: of the pool, whose instances get one later. */
  id: string | undefined;
  spec: InstanceSpec;
  state: 'pooled' | 'live';
  signal: AbortSignal | undefined;
  checkpoint?: IncusCheckpoint;
}

/** Another server has made an instance at the address. */
class AddressTakenError extends Error {
  constructor(address: string, options: { cause: unknown }) {
    super(`${address} is taken`, options);
  }
}

/** Whether an instance is the one of an id, and has not ended. */
function isLive({ status, config }: WireInstance, id: string): boolean {
  return config[keys.id] === id && config[keys.state] === 'live' && status !== 'Stopped';
}

/** Sandboxes that are system containers on an Incus server or cluster. Made by `createIncusDriver`. */
export class IncusDriver extends RegisteredDriver<IncusInstance, IncusCheckpoint> implements Driver {
  readonly name = 'incus';
  readonly capabilities: Capabilities;
  readonly summary: string;
  readonly layers: IncusLayers;
  readonly volumes: PlainVolumes;
  readonly shared: SharedInstances;
  readonly #parts: IncusDriverParts;
  readonly #registry: InstanceRegistry<IncusInstance, IncusCheckpoint>;
  readonly #checkpoints: IncusCheckpoints;
  readonly #mutex = new KeyedMutex();
  readonly #boots = new Semaphore(BOOTS);
  readonly #watch: IncusWatch;
  /** Names of instances that are being made: the reaper keeps off. */
  readonly #making = new Set<string>();
  /** Layers whose image is there before they are. */
  readonly #committing = new Set<string>();

  /** @param all what is in the project: an earlier process of the server left some of it. */
  constructor(parts: IncusDriverParts, all: readonly WireInstance[]) {
    super();
    this.#parts = parts;
    this.summary = parts.summary;
    this.capabilities = incusCapabilities({ diskLimit: parts.diskLimit });
    const { options, cluster, images, files, owner } = parts;
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
    this.layers = new IncusLayers({
      files,
      images,
      requireOpen: () => this.#registry.requireOpen(),
      inUse: (id) => this.#registry.isLayerInUse(id),
    });
    this.volumes = new PlainVolumes(parts.volumesDirectory, this.#registry.cleanUp);
    this.shared = {
      clusterId: parts.clusterId,
      hasInstance: async (id) => (await this.#findLive(id)) !== undefined,
      hasCheckpoint: async (id) => (await this.#checkpoints.look(id)) !== undefined,
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
      check: async () => requireSpec(spec),
      acquire: (instance) => this.#acquire(instance, options),
      make: () => this.#make({ id, spec, state: 'live', signal }),
    });
  }

  restore(options: RestoreOptions): Promise<Instance> {
    const { id, spec, signal, memory } = options;
    return this.#registry.restore(options, {
      check: async () => {
        requireSpec(spec);
        if (memory) throw new DriverError('unsupported', 'The memory of a sandbox cannot be restored here.');
      },
      make: (checkpoint) => this.#make({ id, spec, state: 'live', signal, checkpoint }),
    });
  }

  override async adopt(id: string): Promise<Instance | undefined> {
    return (await super.adopt(id)) ?? this.#serialize(`adopt ${id}`, () => this.#takeOver(id));
  }

  async reap(keep: { instanceIds: string[]; checkpointIds: string[] }): Promise<string[]> {
    const removed = await this.#registry.reap(keep);
    await this.volumes.reap();
    return translated(
      async () => [...removed, ...(await this.#reapUnknown()), ...(await this.#reapImages())],
      {
        code: 'unreachable',
        message: 'The cluster could not be cleaned up.',
      },
    );
  }

  async close(options: { destroyInstances?: boolean } = {}): Promise<void> {
    if (!(await this.#registry.close(options))) return;
    await this.#watch.close();
    this.#parts.cluster.client.close();
    await this.#parts.lock.release();
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

  /** What is known of an instance that somebody has, and that can be reached. */
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
      // It may have ended since it was listed, and its name have gone to another.
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
      message: 'It cannot be told whether the sandbox runs, as a machine of the cluster is away.',
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
    requireSpec(spec);
    const instance = await this.#make({ id: undefined, spec, state: 'pooled', signal });
    try {
      await warmDaemon(this.#daemonDial(instance.record.address));
      await instance.freeze();
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
    await translated(
      async () => {
        const config = recordOf({ state: 'live', id, createdAtMs, spec });
        await Promise.all([
          // Another call of Incus about the same instance waits for neither.
          cluster.patch(name, { config }),
          instance.thaw().then(() => renameCommand && cluster.execute(name, renameCommand(id))),
        ]);
      },
      { code: 'create_failed', message: 'The sandbox could not be started.' },
    );
    instance.acquired({ id, labels: { ...spec.labels }, createdAtMs });
  }

  /** Makes an instance at an address that no other server takes meanwhile: who has made the instance has the address. */
  async #make(options: MakeOptions): Promise<IncusInstance> {
    const { addresses } = this.#parts;
    for (let tries = 1; ; tries += 1) {
      const address = addresses.take();
      try {
        return await this.#makeAt(address, options);
      } catch (error) {
        if (!(error instanceof AddressTakenError)) throw error;
        addresses.leave(address);
        if (tries === ADDRESS_TRIES)
          throw new DriverError('no_capacity', 'There is no room for another sandbox.', {
            cause: error,
            detail: `other servers had each of ${tries} addresses that were tried`,
          });
      }
    }
  }

  async #makeAt(address: string, options: MakeOptions): Promise<IncusInstance> {
    const { spec, state, signal, checkpoint } = options;
    const { cluster, dial, owner, command, pool, parent } = this.#parts;
    const name = sandboxName(address);
    const unique = randomId();
    const id = options.id ?? name;
    const layers = checkpoint?.layers ?? spec.layers;
    const createdAtMs = this.#now();
    const failed: { code: DriverErrorCode; message: string } =
      checkpoint === undefined
        ? { code: 'create_failed', message: 'The sandbox could not be started.' }
        : { code: 'restore_failed', message: 'The sandbox could not be restored.' };
    this.#making.add(name);
    try {
      return await this.#boots.run(async () => {
        signal?.throwIfAborted();
        const body = (imageBytes: number) => ({
          name,
          config: {
            ...instanceConfig({
              spec,
              owner,
              unique,
              state,
              id,
              layers,
              createdAtMs,
              command: command(spec.limits.memoryMiB),
            }),
            [keys.imageBytes]: String(imageBytes),
          },
          devices: instanceDevices({ pool, parent, address, limits: spec.limits, imageBytes }),
        });
        // Not aborted half-way: what Incus makes in the background could not be removed yet.
        const imageBytes =
          checkpoint === undefined
            ? await this.#createOfImage(body, layers, signal)
            : await this.#createOfCheckpoint(body, checkpoint);
        signal?.throwIfAborted();
        const [made] = await Promise.all([
          cluster.find(name),
          waitForDaemon((abort) => dial(address, DAEMON_PORT, abort), { timeoutMs: BOOT_TIMEOUT_MS, signal }),
        ]);
        const record: IncusRecord = {
          name,
          unique,
          id,
          state,
          labels: { ...spec.labels },
          layers: [...layers],
          limits: spec.limits,
          createdAtMs,
          address,
          imageBytes,
          location: made?.location ?? 'none',
        };
        const instance = new IncusInstance(this.#ownerOf(), record);
        this.#registry.add(instance);
        return instance;
      });
    } catch (error) {
      await this.#discard({ name, address, unique });
      if (isNameTaken(error)) throw new AddressTakenError(address, { cause: error });
      signal?.throwIfAborted();
      const translatedError = driverError(error, failed);
      if (
        DriverError.is(translatedError) &&
        ['timeout', 'instance_gone', 'port_closed'].includes(translatedError.code)
      ) {
        throw new DriverError(failed.code, failed.message, { cause: error, detail: translatedError.message });
      }
      throw translatedError;
    } finally {
      this.#making.delete(name);
    }
  }

  /** @returns bytes of the image */
  async #createOfImage(
    body: (imageBytes: number) => Record<string, unknown>,
    layers: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<number> {
    const { images, cluster } = this.#parts;
    const attempt = async () => {
      const { fingerprint, sizeBytes } = await images.require(layers);
      signal?.throwIfAborted();
      await cluster.create({ ...body(sizeBytes), source: { type: 'image', fingerprint } }, { start: true });
      return sizeBytes;
    };
    try {
      return await attempt();
    } catch (error) {
      if (!IncusError.is(error) || !/image.*not found|not found.*image/i.test(error.message)) throw error;
      // Somebody deleted the image that this process had seen: it is made again.
      images.forget();
      return attempt();
    }
  }

  /** On the member that has it. @returns bytes of the image that its source was made of */
  async #createOfCheckpoint(
    body: (imageBytes: number) => Record<string, unknown>,
    { name, imageBytes }: IncusCheckpoint,
  ): Promise<number> {
    const { cluster } = this.#parts;
    const made = body(imageBytes);
    const target = (await cluster.find(name))?.location;
    const source = { type: 'copy', source: name, instance_only: true };
    await cluster.create({ ...made, source }, { start: false, ...(target === undefined ? {} : { target }) });
    await cluster.changeState(String(made.name), 'start');
    return imageBytes;
  }

  /** Frees what was made so far, unless another server has it. What cannot be freed now is freed later. */
  async #discard({ name, address, unique }: Pick<IncusRecord, 'name' | 'address' | 'unique'>): Promise<void> {
    const { cluster, addresses, owner } = this.#parts;
    await this.#registry.cleanUp.attempt(`instance ${name}`, async () => {
      await cluster.remove(name, { [keys.owner]: owner, [keys.unique]: unique });
      addresses.release(address);
    });
  }

  #ownerOf(): IncusOwner {
    const { cluster, dial, pool } = this.#parts;
    return {
      dial,
      setFrozen: (name, frozen) => cluster.changeState(name, frozen ? 'freeze' : 'unfreeze'),
      state: (name) => cluster.state(name),
      resources: (location) => cluster.resources(location),
      poolBytes: (location) => cluster.poolBytes(pool, location),
      checkpoint: (instance, options) => this.#checkpoint(instance, options),
      commitLayer: (instance) => this.#commitLayer(instance),
      dispose: async (instance) => {
        await this.#serialize(instance.record.name, () => this.#discard(instance.record));
        this.#registry.remove(instance);
      },
      look: (instance) => this.#watch.lookAt(instance),
      serialize: (name, task) => this.#serialize(name, task),
    };
  }

  #serialize<T>(name: string, task: () => Promise<T>): Promise<T> {
    return this.#mutex.run(name, task);
  }

  async #checkpoint(instance: IncusInstance, { checkpointId }: CheckpointOptions): Promise<Checkpoint> {
    const { cluster, owner } = this.#parts;
    const { name: source, location, layers, imageBytes } = instance.record;
    const made = await this.#checkpoints.claim(checkpointId, async () => {
      const name = checkpointName(checkpointId);
      const unique = randomId();
      this.#making.add(name);
      try {
        const used = (await cluster.state(source)).disk?.root?.usage ?? 0;
        // Where the pool does not count, it is at least something.
        const sizeBytes = Math.max(1, used - imageBytes);
        const config = {
          [keys.owner]: owner,
          [keys.unique]: unique,
          [keys.state]: 'checkpoint',
          [keys.id]: checkpointId,
          [keys.labels]: '{}',
          [keys.layers]: JSON.stringify(layers),
          [keys.sizeBytes]: String(sizeBytes),
          [keys.imageBytes]: String(imageBytes),
          // Unlike a sandbox it can move to another machine; left to itself Incus does not move what has a routed network card.
          'cluster.evacuate': 'migrate',
        };
        await cluster.create(
          { name, config, source: { type: 'copy', source, instance_only: true } },
          { start: false, target: location },
        );
        return { id: checkpointId, name, memory: false, sizeBytes, imageBytes, layers };
      } catch (error) {
        this.#checkpoints.forget(name);
        await this.#registry.cleanUp.attempt(`checkpoint ${checkpointId}`, () =>
          cluster.remove(name, { [keys.unique]: unique }),
        );
        if (isNameTaken(error))
          throw new DriverError('busy', 'A checkpoint of this name exists already.', { cause: error });
        throw driverError(error, { code: 'unreachable', message: 'The sandbox could not be stored.' });
      } finally {
        this.#making.delete(name);
      }
    });
    // The storage pool takes the copy at one moment, while programs run.
    return { id: made.id, memory: false, sizeBytes: made.sizeBytes, frozenMs: 0 };
  }

  async #commitLayer(instance: IncusInstance): Promise<LayerInfo> {
    const { cluster, images, files } = this.#parts;
    const { name } = instance.record;
    const layerId = randomId();
    this.#committing.add(layerId);
    return translated(
      async () => {
        await cluster.snapshot(name, layerId);
        try {
          const layer = await images.publishSnapshot({ instance: name, snapshot: layerId, layerId });
          const { id, sizeBytes } = await files.add(layer);
          return { id, sizeBytes };
        } finally {
          await this.#registry.cleanUp.attempt(`snapshot ${layerId}`, () =>
            cluster.deleteSnapshot(name, layerId),
          );
        }
      },
      { code: 'unreachable', message: 'The sandbox could not be stored.' },
    ).finally(() => this.#committing.delete(layerId));
  }

  /** Removes instances of this data directory that nobody knows: half-made ones, and those of a pool that is gone. */
  async #reapUnknown(): Promise<string[]> {
    const { cluster, owner } = this.#parts;
    const known = new Set(this.#making);
    for (const { record } of this.#registry.items) known.add(record.name);
    for (const { name } of await this.#checkpoints.list()) known.add(name);
    const removed: string[] = [];
    for (const { name, config } of await cluster.listOf(owner)) {
      if (known.has(name) || this.#making.has(name)) continue;
      const same = { [keys.owner]: owner, [keys.unique]: config[keys.unique] };
      if (await this.#registry.cleanUp.attempt(`instance ${name}`, () => cluster.remove(name, same))) {
        removed.push(`half-made or pooled instance ${name}`);
      }
    }
    return removed;
  }

  /** Removes images of layers that are gone. */
  async #reapImages(): Promise<string[]> {
    const { cluster, images, files, owner } = this.#parts;
    const removed: string[] = [];
    for (const { fingerprint, properties } of await images.list()) {
      if (properties[imageKeys.owner] !== owner) continue;
      const ids = [properties[imageKeys.layer], ...(properties[imageKeys.layers] ?? '').split(',')].filter(
        Boolean,
      );
      const gone = (await Promise.all(ids.map((id) => files.find(id!)))).some((layer) => layer === undefined);
      if (!gone || this.#committing.has(properties[imageKeys.layer] ?? '')) continue;
      const remove = () => cluster.client.find({ method: 'DELETE', path: `/images/${fingerprint}` });
      if (await this.#registry.cleanUp.attempt(`image ${fingerprint}`, remove))
        removed.push(`image ${fingerprint}`);
    }
    return removed;
  }

  #daemonDial(address: string) {
    return (signal?: AbortSignal) => this.#parts.dial(address, DAEMON_PORT, signal);
  }

  #now(): number {
    return (this.#parts.options.now ?? Date.now)();
  }
}
