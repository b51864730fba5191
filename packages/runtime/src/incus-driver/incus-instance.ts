import type { Duplex } from 'node:stream';
import { DriverError } from '../contract/errors.js';
import type {
  Checkpoint,
  CheckpointOptions,
  InstanceEnd,
  InstanceLimits,
  InstanceNetwork,
  InstanceRecord,
  InstanceStats,
  LayerInfo,
} from '../contract/instance.js';
import { requireCheckpointId, requireInstanceId } from '../shared/instance-id.js';
import type { RegisteredInstance } from '../shared/instance-registry.js';
import { driverError, gone, translated } from './driver-error.js';
import { keys } from './keys.js';
import { CARD } from './network/card-device.js';
import { type CardMode, cardModeOf } from './network/card-name.js';
import { BARE } from './network/plug-card.js';
import { requireNetwork } from './network/require-network.js';
import { type DialAddress, dialIncusInstance } from './reach.js';
import { countOf, readLayerIds } from './read-wire.js';
import type { WireInstance, WireInstanceState, WireResources } from './wire.js';

/** The record of an instance. */
export interface IncusRecord {
  /** In Incus. It stays when a pooled instance gets its id. */
  name: string;
  /** Distinguishes it from an earlier instance of this name. */
  unique: string | undefined;
  id: string;
  state: 'pooled' | 'live';
  labels: Record<string, string>;
  layers: string[];
  limits: InstanceLimits;
  createdAtMs: number;
  address: string;
  /** The traffic that its network card lets through; undefined: everything, as the fence does not know it. */
  card: CardMode | undefined;
  /** True if that card was plugged in and has no address inside yet. */
  bare: boolean;
  /** Of the image that it was made of. */
  imageBytes: number;
  /** Member that it runs on. */
  location: string;
}

/** The services of the driver that an instance uses. */
export interface IncusOwner {
  dial: DialAddress;
  /** The members can be relied on to keep sandboxes from the network. */
  fenced: boolean;
  /** A card that was plugged in can be set up inside. */
  setsUpCards: boolean;
  /** Settles once the fence of a member is seen to hold. @throws {DriverError} `unsupported` */
  requireFence(location: string): Promise<void>;
  /** Settles unless the fence of a member is known not to hold. @throws {DriverError} `unsupported` */
  requireFenceNotMissing(location: string): Promise<void>;
  plugCard(record: IncusRecord, mode: CardMode): Promise<void>;
  setUpCard(record: IncusRecord): Promise<void>;
  setFrozen(name: string, frozen: boolean): Promise<void>;
  state(name: string): Promise<WireInstanceState>;
  resources(location: string): Promise<WireResources>;
  /** Of the storage pool, on one member. */
  poolBytes(location: string): Promise<number>;
  checkpoint(instance: IncusInstance, options: CheckpointOptions): Promise<Checkpoint>;
  commitLayer(instance: IncusInstance): Promise<LayerInfo>;
  /** Frees everything of it. */
  dispose(instance: IncusInstance): Promise<void>;
  /** Looks whether it runs, as something speaks against it. */
  look(instance: IncusInstance): Promise<void>;
  serialize<T>(name: string, task: () => Promise<T>): Promise<T>;
}

/** An instance that is a container of Incus. */
export class IncusInstance implements RegisteredInstance {
  readonly isolation = 'container';
  readonly ended: Promise<InstanceEnd>;
  readonly #owner: IncusOwner;
  #record: IncusRecord;
  #frozen: boolean;
  #over = false;
  /** A change of the card broke off: which one there is, nobody knows. */
  #cardUnknown = false;
  #destroying: Promise<void> | undefined;
  #onEnd!: (end: InstanceEnd) => void;

  constructor(owner: IncusOwner, record: IncusRecord, frozen = false) {
    this.#owner = owner;
    this.#record = record;
    this.#frozen = frozen;
    this.ended = new Promise((resolve) => {
      this.#onEnd = resolve;
    });
  }

  get record(): IncusRecord {
    return this.#record;
  }

  get id(): string {
    return this.#record.id;
  }

  get labels(): Record<string, string> {
    return { ...this.#record.labels };
  }

  get running(): boolean {
    return !this.#over && this.#destroying === undefined;
  }

  get named(): boolean {
    return this.#record.state === 'live';
  }

  get layers(): readonly string[] {
    return this.#record.layers;
  }

  get frozen(): boolean {
    return this.#frozen;
  }

  describe(): InstanceRecord {
    const { id, labels, createdAtMs } = this.#record;
    const state = !this.running ? 'dead' : this.#frozen ? 'frozen' : 'running';
    return { id, labels: { ...labels }, createdAtMs, state };
  }

  /** Gives it to somebody. */
  acquired(fields: Pick<IncusRecord, 'id' | 'labels' | 'createdAtMs'>): void {
    this.#record = { ...this.#record, ...fields, state: 'live' };
  }

  /** It stopped, or the machine that it was on is away. */
  finish(reason: InstanceEnd['reason']): void {
    this.#over = true;
    this.#onEnd({ reason });
  }

  async setNetwork(network: InstanceNetwork): Promise<void> {
    this.#requireRunning();
    const mode = requireNetwork(network, this.#owner);
    const { card, location } = this.#record;
    if (mode === 'none' && card !== mode) await this.#owner.requireFence(location);
    await this.#exclusively(() => this.#changeCard(mode));
  }

  async dial(port: number, options: { signal?: AbortSignal } = {}): Promise<Duplex> {
    this.#requireRunning();
    try {
      return await dialIncusInstance(this.#owner.dial, this.#record.address, port, options.signal);
    } catch (error) {
      if (DriverError.is(error) && error.code === 'instance_gone') void this.#owner.look(this);
      if (DriverError.is(error)) this.#requireRunning();
      throw error;
    }
  }

  freeze(): Promise<void> {
    return this.#setFrozen(true);
  }

  async thaw(): Promise<void> {
    const { card, location } = this.#record;
    if (this.#frozen && card === 'none') await this.#owner.requireFenceNotMissing(location);
    await this.#setFrozen(false);
  }

  async stats(): Promise<InstanceStats> {
    this.#requireRunning();
    const { name, location, limits, imageBytes } = this.#record;
    const fallback = { code: 'instance_gone', message: 'The sandbox cannot be measured.' } as const;
    return translated(async () => {
      const [state, resources] = await Promise.all([
        this.#owner.state(name),
        this.#owner.resources(location),
      ]);
      this.#requireRunning();
      const root = state.disk?.root;
      return {
        cpuUsageUs: Math.round((state.cpu?.usage ?? 0) / 1000),
        cpuCount: limits.cpuCount ?? resources.cpu.total,
        memoryBytes: state.memory?.usage ?? 0,
        memoryLimitBytes:
          limits.memoryMiB === undefined ? resources.memory.total : limits.memoryMiB * 2 ** 20,
        // Incus counts the page cache with the rest.
        memoryCacheBytes: 0,
        diskUsedBytes: Math.max(0, (root?.usage ?? 0) - imageBytes),
        diskLimitBytes:
          limits.diskMiB === undefined ? await this.#owner.poolBytes(location) : limits.diskMiB * 2 ** 20,
        pids: Math.max(0, state.processes ?? 0),
      };
    }, fallback);
  }

  async checkpoint(options: CheckpointOptions): Promise<Checkpoint> {
    if (options.memory)
      throw new DriverError('unsupported', 'The memory of a sandbox cannot be stored here.');
    requireCheckpointId(options.checkpointId);
    const made = await this.#exclusively(() => this.#owner.checkpoint(this, options));
    if (options.then === 'destroy') await this.destroy();
    return made;
  }

  commitLayer(): Promise<LayerInfo> {
    return this.#exclusively(() => this.#owner.commitLayer(this));
  }

  destroy(): Promise<void> {
    this.#destroying ??= this.#destroy().catch((error) => {
      this.#destroying = undefined;
      throw error;
    });
    return this.#destroying;
  }

  async #destroy(): Promise<void> {
    this.#onEnd({ reason: 'destroyed' });
    await this.#owner.dispose(this);
    this.#over = true;
  }

  async #changeCard(mode: CardMode): Promise<void> {
    const { card = 'internet' } = this.#record;
    if (card !== mode || this.#cardUnknown) {
      if (!this.#owner.setsUpCards)
        throw new DriverError('unsupported', 'The network of a sandbox that runs cannot be changed here.');
      this.#cardUnknown = true;
      await this.#attempt('The network of the sandbox could not be changed.', () =>
        this.#owner.plugCard(this.#record, mode),
      );
      this.#cardUnknown = false;
      this.#record = { ...this.#record, card: mode, bare: true };
    }
    if (!this.#frozen) await this.#setUpCard();
  }

  /** Programs inside run only where nothing is frozen: until then a card that was plugged in leads nowhere. */
  async #setUpCard(): Promise<void> {
    if (!this.#record.bare) return;
    await this.#attempt('The network of the sandbox could not be set up.', () =>
      this.#owner.setUpCard(this.#record),
    );
    this.#record = { ...this.#record, bare: false };
  }

  async #attempt(message: string, task: () => Promise<void>): Promise<void> {
    try {
      await task();
    } catch (error) {
      await this.#owner.look(this);
      this.#requireRunning();
      throw driverError(error, { code: 'unreachable', message });
    }
  }

  #setFrozen(frozen: boolean): Promise<void> {
    return this.#exclusively(async () => {
      if (this.#frozen === frozen) return;
      await this.#attempt(
        frozen ? 'The sandbox could not be paused.' : 'The sandbox could not be resumed.',
        () => this.#owner.setFrozen(this.#record.name, frozen),
      );
      this.#frozen = frozen;
      if (!frozen) await this.#setUpCard();
    });
  }

  #exclusively<T>(task: () => Promise<T>): Promise<T> {
    return this.#owner.serialize(this.#record.name, async () => {
      this.#requireRunning();
      return task();
    });
  }

  #requireRunning(): void {
    if (!this.running) throw gone();
  }
}

/** Reads the data that Incus keeps about an instance. Undefined: it is incomplete, or not ours. Pure. */
export function readRecord({ name, config, devices, location }: WireInstance): IncusRecord | undefined {
  const state = config[keys.state];
  const card = devices[CARD];
  const address = card?.['ipv4.address'];
  if ((state !== 'pooled' && state !== 'live') || address === undefined) return undefined;
  try {
    return {
      name,
      unique: config[keys.unique],
      state,
      id: requireInstanceId(config[keys.id] ?? ''),
      labels: requireTexts(JSON.parse(config[keys.labels] ?? '{}')),
      layers: readLayerIds(config[keys.layers]),
      limits: readLimits(JSON.parse(config[keys.limits] ?? '{}')),
      createdAtMs: countOf(config[keys.createdAtMs]),
      address,
      card: cardModeOf(card?.host_name),
      bare: config[keys.card] === BARE,
      imageBytes: countOf(config[keys.imageBytes]),
      location,
    };
  } catch {
    return undefined;
  }
}

/** Pure. @throws {TypeError} for what no driver has written */
function requireTexts(value: unknown): Record<string, string> {
  const whole = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!whole || Object.values(value).some((text) => typeof text !== 'string'))
    throw new TypeError('These are no labels.');
  return value as Record<string, string>;
}

function readLimits(value: unknown): InstanceLimits {
  const limits: InstanceLimits = {};
  for (const name of ['cpuCount', 'memoryMiB', 'diskMiB', 'pids'] as const) {
    const limit = (value as Record<string, unknown> | null)?.[name];
    if (typeof limit === 'number' && limit > 0 && Number.isFinite(limit)) limits[name] = limit;
  }
  return limits;
}
