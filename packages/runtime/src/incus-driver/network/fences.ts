import type { DriverOptions } from '../../contract/driver.js';
import type { InstanceSpec } from '../../contract/instance.js';
import type { IncusCluster } from '../incus-cluster.js';
import type { CardMode } from './card-name.js';
import { FenceProofs } from './fence-proofs.js';
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

  constructor(options: FencesOptions) {
    this.#options = options;
    this.#proofs = new FenceProofs({ prove: (location) => this.#try(location), log: options.log });
  }

  /** As {@link FenceProofs.require}. */
  require(location: string): Promise<void> {
    return this.#proofs.require(location);
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
