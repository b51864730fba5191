import type { DriverOptions } from '../../contract/driver.js';
import type { InstanceSpec } from '../../contract/instance.js';
import type { IncusCluster } from '../incus-cluster.js';
import type { CardMode } from './card-name.js';
import { FenceProofs } from './fence-proofs.js';
import { FenceWatch } from './fence-watch.js';
import { type FenceProbe, tryFence } from './try-fence.js';

const PROBE_MIB = 256;

/** An instance of nobody's. */
export interface MadeProbe {
  readonly record: { name: string; address: string };
  destroy(): Promise<void>;
}

export interface FencesOptions {
  cluster: Pick<IncusCluster, 'executeForCode' | 'members'>;
  /** Makes an instance of nobody's on a member. */
  make(spec: InstanceSpec, target: string): Promise<MadeProbe>;
  /** As {@link FenceWatchOptions.relying}. */
  relying(): ReadonlyMap<string, number>;
  log: NonNullable<DriverOptions['log']>;
}

/** A member, and what is wrong with its fence; undefined: it holds. */
export interface TriedFence {
  member: string;
  problem: string | undefined;
}

/** The fences of all members, which are believed only after they were tried from inside. */
export class Fences {
  readonly #options: FencesOptions;
  readonly #proofs: FenceProofs;
  readonly #watch: FenceWatch;

  constructor(options: FencesOptions) {
    this.#options = options;
    this.#proofs = new FenceProofs({ prove: (location) => this.#try(location), log: options.log });
    this.#watch = new FenceWatch({
      relying: options.relying,
      prove: (location) => this.#proofs.proveAgain(location),
      log: options.log,
    });
  }

  /** Members whose fence does not hold though sandboxes rely on it, each in a sentence. */
  problems(): string[] {
    return [...this.#options.relying()].flatMap(([member, count]) => {
      const problem = this.#proofs.problemOf(member);
      if (problem === undefined) return [];
      return `The fence of ${member} does not hold, and ${count} sandbox(es) without network access run there: ${problem}.`;
    });
  }

  /** Ends the watch. */
  close(): Promise<void> {
    return this.#watch.close();
  }

  /** As {@link FenceProofs.require}. */
  require(location: string): Promise<void> {
    return this.#proofs.require(location);
  }

  /** As {@link FenceProofs.requireNotMissing}. */
  requireNotMissing(location: string): Promise<void> {
    return this.#proofs.requireNotMissing(location);
  }

  /**
   * Tries the fence of every member that is there, one after another.
   * @throws what kept one from being tried
   */
  async tryAll(): Promise<TriedFence[]> {
    const members = await this.#options.cluster.members();
    // A server of its own has no members, and is the place of all instances.
    const names =
      members.length === 0
        ? ['none']
        : members.filter(({ status }) => status === 'Online').map(({ server_name: name }) => name);
    const tried: TriedFence[] = [];
    for (const member of names) tried.push({ member, problem: await this.#try(member) });
    return tried;
  }

  #try(location: string): Promise<string | undefined> {
    return tryFence((mode) => this.#makeProbe(mode, location));
  }

  async #makeProbe(egress: CardMode, location: string): Promise<FenceProbe> {
    const { make, cluster } = this.#options;
    const limits = { memoryMiB: PROBE_MIB };
    const probe = await make({ layers: [], limits, network: { egress }, mounts: [], labels: {} }, location);
    return {
      address: probe.record.address,
      run: (command) => cluster.executeForCode(probe.record.name, command),
      destroy: () => probe.destroy(),
    };
  }
}
