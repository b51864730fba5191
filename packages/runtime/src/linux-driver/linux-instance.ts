import { availableParallelism, totalmem } from 'node:os';
import type { Duplex } from 'node:stream';
import type { Isolation } from '../contract/capabilities.js';
import { DriverError } from '../contract/errors.js';
import type {
  Checkpoint,
  CheckpointOptions,
  ForwardedDestinations,
  InstanceEnd,
  InstanceNetwork,
  InstanceReach,
  InstanceRecord,
  InstanceStats,
  LayerInfo,
} from '../contract/instance.js';
import { DAEMON_PORT, dialInstance } from '../shared/dial-instance.js';
import type { RegisteredInstance } from '../shared/instance-registry.js';
import { checkpointInstance, type RestoreTrial } from './checkpoints/checkpoint.js';
import { isRunning, type LinuxHost, mayRun } from './host/linux-host.js';
import { commitInstance } from './layers/layers.js';
import { requireDestinations } from './network/ranges.js';
import { requireNetwork } from './spec.js';
import { type InstanceEntry, isolationOf } from './state/records.js';
import type { OciTier } from './tiers/tier.js';

/** The services of the driver that an instance uses. */
export interface InstanceOwner {
  host: LinuxHost;
  /** The isolation tier between the instance and the host's kernel. */
  tier: OciTier;
  /** Runs tasks of one instance one after another. */
  serialize<T>(name: string, task: () => Promise<T>): Promise<T>;
  /**
   * Restores memory that is being stored, up to its first instruction, and removes what came of it: the source is not given up for
   * memory that nobody can restore. Does nothing where there is no room for its memory a second time.
   * @throws {DriverError} `restore_failed`, or what keeps any sandbox from being made now
   */
  tryRestore(entry: InstanceEntry, trial: RestoreTrial, signal?: AbortSignal): Promise<void>;
  /** Frees everything of an instance whose processes have exited or may be killed. */
  dispose(instance: LinuxInstance): Promise<void>;
}

export class LinuxInstance implements RegisteredInstance {
  readonly entry: InstanceEntry;
  readonly ended: Promise<InstanceEnd>;
  readonly #owner: InstanceOwner;
  #onEnd!: (end: InstanceEnd) => void;
  #destroying: Promise<void> | undefined;
  #over = false;
  #subvolume: number | undefined;

  constructor(owner: InstanceOwner, entry: InstanceEntry) {
    this.#owner = owner;
    this.entry = entry;
    this.ended = new Promise((resolve) => {
      this.#onEnd = resolve;
    });
  }

  get id(): string {
    return this.entry.id ?? this.entry.name;
  }

  get labels(): Record<string, string> {
    return this.entry.spec.labels;
  }

  get named(): boolean {
    return this.entry.state === 'live';
  }

  get layers(): readonly string[] {
    return this.entry.layers;
  }

  describe(): InstanceRecord {
    return {
      id: this.id,
      state: !this.running ? 'dead' : this.frozen ? 'frozen' : 'running',
      labels: this.labels,
      createdAtMs: this.entry.createdAtMs,
    };
  }

  get frozen(): boolean {
    return this.#owner.host.cgroups.frozen(this.entry.name);
  }

  get running(): boolean {
    return !this.#over && isRunning(this.entry);
  }

  /**
   * Looks whether the first process is still there and settles `ended` when not.
   * @param how `often`: at a price that can be paid many times a second; ends that it misses are found by a full look.
   */
  check(how: 'full' | 'often' = 'full'): void {
    // While it is being made there is no first process yet.
    if (this.#over || this.entry.state === 'making') return;
    if (how === 'often' && mayRun(this.entry)) return;
    if (isRunning(this.entry)) return;
    this.finish(this.#owner.host.cgroups.oomKills(this.entry.name) > 0 ? 'oom' : 'exited');
  }

  finish(reason: InstanceEnd['reason']): void {
    this.#over = true;
    this.#onEnd({ reason });
  }

  get reach(): InstanceReach {
    const host = this.address;
    return { daemon: { host, port: DAEMON_PORT }, hosts: [host], tunnel: true };
  }

  get isolation(): Isolation {
    return isolationOf(this.entry);
  }

  get address(): string {
    return this.#owner.host.network.addressOf(this.entry.lease);
  }

  setNetwork(network: InstanceNetwork): Promise<void> {
    const { host } = this.#owner;
    return this.#exclusively(async () => {
      requireNetwork(network, host.governProblem);
      const { entry } = this;
      if (network.egress === entry.spec.network.egress) return;
      // A driver that finds the record puts it in force, so a crash in between leaves nothing open.
      entry.spec = { ...entry.spec, network };
      host.records.write(entry);
      const keeper = await host.up();
      await host.network.change(keeper, entry.lease, network, entry.pid);
      // That was for the mode that it leaves.
      if (network.egress !== 'governed') await host.network.withdraw(keeper, entry.lease);
    });
  }

  setForwarded(destinations: ForwardedDestinations): Promise<void> {
    const { host } = this.#owner;
    return this.#exclusively(async () => {
      requireDestinations(destinations);
      const { lease, pid } = this.entry;
      await host.network.forward(await host.up(), lease, destinations, pid);
    });
  }

  async dial(port: number, options: { signal?: AbortSignal } = {}): Promise<Duplex> {
    this.#requireRunning();
    try {
      return await dialInstance(this.reach, port, options.signal);
    } catch (error) {
      if (DriverError.is(error)) this.#requireRunning();
      throw error;
    }
  }

  freeze(): Promise<void> {
    return this.#exclusively(() => this.#owner.host.cgroups.freeze(this.entry.name));
  }

  thaw(): Promise<void> {
    return this.#exclusively(async () => this.#owner.host.cgroups.thaw(this.entry.name));
  }

  async stats(): Promise<InstanceStats> {
    this.#requireRunning();
    const { host } = this.#owner;
    const { limits } = this.entry.spec;
    await host.up();
    this.#subvolume ??= await host.store.subvolumeOf(`i/${this.entry.name}/sv`);
    const used = this.#subvolume === undefined ? undefined : host.store.usedBytes(this.#subvolume);
    return {
      ...host.cgroups.usage(this.entry.name),
      cpuCount: limits.cpuCount ?? availableParallelism(),
      memoryLimitBytes: limits.memoryMiB === undefined ? totalmem() : limits.memoryMiB * 2 ** 20,
      diskUsedBytes: used ?? 0,
      diskLimitBytes: limits.diskMiB === undefined ? host.store.totalBytes() : limits.diskMiB * 2 ** 20,
    };
  }

  async checkpoint(options: CheckpointOptions): Promise<Checkpoint> {
    const made = await this.#exclusively(() => checkpointInstance(this.#owner, this.entry, options));
    if (options.then === 'destroy') await this.destroy();
    return made;
  }

  commitLayer(): Promise<LayerInfo> {
    return this.#exclusively(() => commitInstance(this.#owner.host, this.entry));
  }

  destroy(): Promise<void> {
    this.#destroying ??= this.#owner.serialize(this.entry.name, () => this.#owner.dispose(this));
    return this.#destroying;
  }

  #exclusively<T>(task: () => Promise<T>): Promise<T> {
    return this.#owner.serialize(this.entry.name, async () => {
      this.#requireRunning();
      return task();
    });
  }

  #requireRunning(): void {
    this.check();
    if (this.#over || this.#destroying !== undefined) {
      throw new DriverError('instance_gone', 'The sandbox has ended.');
    }
  }
}
