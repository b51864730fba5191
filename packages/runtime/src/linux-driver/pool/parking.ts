import type { CreateOptions } from '../../contract/driver.js';
import { dialTcp } from '../../shared/dial.js';
import { DAEMON_PORT } from '../../shared/dial-instance.js';
import { warmDaemon } from '../../shared/readiness.js';
import type { LinuxHost } from '../host/linux-host.js';
import type { InstanceEntry } from '../state/records.js';
import type { NameWriter, OciTier } from '../tiers/tier.js';
import { renameInstance } from './rename-machine.js';

/** Puts instances into the pool, frozen, and takes them out of it with a name of their own. */
export class Parking {
  readonly #host: LinuxHost;
  /** By the instance's own name. */
  readonly #writers = new Map<string, NameWriter>();

  constructor(host: LinuxHost) {
    this.#host = host;
  }

  /** Lets a booted instance load what its first caller will need, then freezes it. */
  async park(tier: OciTier, entry: InstanceEntry): Promise<void> {
    const address = this.#host.network.addressOf(entry.lease);
    await warmDaemon((signal) => dialTcp(address, DAEMON_PORT, signal));
    this.#writers.set(entry.name, await tier.nameWriter(entry));
    await this.#host.cgroups.freeze(entry.name);
  }

  /** Makes it the instance that was asked for, and resumes it. */
  async acquire(entry: InstanceEntry, options: CreateOptions): Promise<void> {
    entry.id = options.id;
    entry.state = 'live';
    const parked = entry.spec.network.egress;
    entry.spec = options.spec;
    entry.createdAtMs = this.#host.now();
    // It is still frozen: after a crash the next driver has to thaw it.
    entry.held = true;
    this.#host.records.write(entry);
    const writer = this.#writers.get(entry.name);
    if (writer === undefined) throw new Error('It was not parked by this process.');
    this.#writers.delete(entry.name);
    // Side by side: some is other processes' work, some ours.
    const named = writer.write(options.id);
    const { network } = options.spec;
    // It has opened no connection yet.
    const changed =
      network.egress === parked
        ? undefined
        : this.#host.network.change(await this.#host.up(), entry.lease, network);
    renameInstance(this.#host, entry, entry.name);
    await changed;
    if (!writer.inside) await named;
    this.#host.cgroups.thaw(entry.name);
    await named;
    delete entry.held;
    this.#host.records.write(entry);
  }

  /** Drops what was kept for an instance; settles when it is dropped. */
  async forget(name: string): Promise<void> {
    await this.#writers.get(name)?.end();
    this.#writers.delete(name);
  }
}
