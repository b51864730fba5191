import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { assetPath } from '../../shared/assets.js';
import { readHostMemory } from '../cgroups/admission.js';
import { Cgroups } from '../cgroups/cgroups.js';

const MIB = 2 ** 20;
const NAME = 'process';
const PERIOD_US = 100_000;
/** Node's threads, and what starts it. */
const PIDS = 64;
/** The devices that the process and the host's programs that start it open: null, zero, random, urandom. */
const DEVICES = [3, 5, 8, 9];

/** The share of the host that the egress process gets, for all sandboxes together. */
export interface EgressShare {
  memoryMiB: number;
  /** Processor cores. */
  cores: number;
}

/** An eighth of the memory, at most 1.5 GiB; three quarters of the processors. */
export function egressShare(host: { totalBytes: number; cores: number }): EgressShare {
  return {
    memoryMiB: Math.min(1_536, Math.max(384, Math.floor(host.totalBytes / 8 / MIB))),
    cores: Math.max(0.75, host.cores * 0.75),
  };
}

/** The cgroup of the egress process, beside that of the sandboxes: it takes no more than its share, whatever they send. */
export class EgressGroup {
  readonly share = egressShare({
    totalBytes: readHostMemory().totalBytes,
    cores: availableParallelism(),
  });
  readonly #cgroups: Cgroups;

  constructor(tag: string) {
    this.#cgroups = new Cgroups(`${tag}-egress`);
  }

  /** Makes it. @returns words in front of a command that is to run in it */
  make(): string[] {
    const memoryBytes = this.share.memoryMiB * MIB;
    // A little more for the group, so that it is the process that reaches its limit.
    this.#cgroups.prepare({ memoryBytes: memoryBytes + 64 * MIB, pids: PIDS });
    this.#cgroups.make(NAME, {
      memory: { limit: memoryBytes, ...(this.#cgroups.swapAccounting ? { swap: memoryBytes } : {}) },
      cpu: { quota: Math.round(this.share.cores * PERIOD_US), period: PERIOD_US },
      pids: { limit: PIDS },
      devices: DEVICES.map((minor) => ({ allow: true, type: 'c', major: 1, minor, access: 'rw' })),
    });
    const directories = this.#cgroups.directoriesOf(NAME);
    return ['sh', assetPath('enter-cgroups.sh'), String(directories.length), ...directories];
  }

  /** The number of times that the kernel ended it for want of memory. */
  get oomKills(): number {
    return this.#cgroups.oomKills(NAME);
  }

  /** Removes it once it is empty. */
  async remove(): Promise<void> {
    for (let tries = 0; tries < 50 && !this.#cgroups.remove(NAME); tries += 1) await sleep(20);
    await this.#cgroups.removeParent();
  }
}
