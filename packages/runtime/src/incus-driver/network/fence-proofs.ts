import { DriverError } from '../../contract/errors.js';

/** A fence that worked may have been removed since: by hand, or by a restart of the service that loads the rules of the member. */
const HOLDS_MS = 600_000;
/** An operator who loads the fence wants a fast reaction; refused requests must not keep a member busy. */
const FAILS_MS = 15_000;

interface Proof {
  /** The defect; undefined: the fence works. */
  problem: string | undefined;
  atMs: number;
}

export interface FenceProofsOptions {
  /** Tries the fence of a member from inside. @returns what is wrong with it; undefined: it holds */
  prove(location: string): Promise<string | undefined>;
  log(level: 'info' | 'error', message: string, fields: Record<string, unknown>): void;
  /** ms of a clock that never goes back. Default the process's own. */
  now?(): number;
}

/** The results of trials of each member's fence: without a passed trial, no sandbox is without network access there. */
export class FenceProofs {
  readonly #options: FenceProofsOptions;
  readonly #proofs = new Map<string, Proof>();
  readonly #underWay = new Map<string, Promise<Proof>>();
  /** The defects that the last finished trial found, also while another one is under way. */
  readonly #problems = new Map<string, string>();

  constructor(options: FenceProofsOptions) {
    this.#options = options;
  }

  /**
   * Settles once the fence of a member is known to hold.
   * @throws {DriverError} `unsupported` where it does not; what kept it from being tried.
   */
  async require(location: string): Promise<void> {
    const known = this.#proofs.get(location);
    const { problem } = known !== undefined && this.#counts(known) ? known : await this.#prove(location);
    if (problem === undefined) return;
    throw new DriverError(
      'unsupported',
      'Internet access cannot be switched off: the machine of the sandbox does not keep it from the network.',
      { detail: `the fence of the member ${location} does not hold: ${problem}` },
    );
  }

  /**
   * As {@link require}, but where the last trial found nothing wrong, however long ago, nothing is tried: that takes seconds.
   * @throws {DriverError} as {@link require}
   */
  async requireNotMissing(location: string): Promise<void> {
    if (this.problemOf(location) !== undefined) await this.require(location);
  }

  /** Tries the fence of a member regardless of earlier trials. @returns as {@link FenceProofsOptions.prove} */
  async proveAgain(location: string): Promise<string | undefined> {
    return (await this.#prove(location)).problem;
  }

  /** The defect of a member's fence in its last trial; undefined: none. */
  problemOf(location: string): string | undefined {
    return this.#problems.get(location);
  }

  #counts({ problem, atMs }: Proof): boolean {
    return this.#now() - atMs < (problem === undefined ? HOLDS_MS : FAILS_MS);
  }

  /** One trial at a time on each member. */
  #prove(location: string): Promise<Proof> {
    const running = this.#underWay.get(location);
    if (running !== undefined) return running;
    const proving = this.#proveNow(location).finally(() => this.#underWay.delete(location));
    this.#underWay.set(location, proving);
    return proving;
  }

  async #proveNow(member: string): Promise<Proof> {
    this.#proofs.delete(member);
    const problem = await this.#options.prove(member);
    const proof = { problem, atMs: this.#now() };
    this.#proofs.set(member, proof);
    if (problem === undefined) this.#problems.delete(member);
    else this.#problems.set(member, problem);
    if (problem === undefined) this.#options.log('info', 'the fence of a member holds', { member });
    else this.#options.log('error', 'the fence of a member does not hold', { member, problem });
    return proof;
  }

  #now(): number {
    return (this.#options.now ?? (() => performance.now()))();
  }
}
