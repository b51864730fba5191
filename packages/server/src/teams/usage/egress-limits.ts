import type { Instance } from '@svc/runtime/contract';

/** The teams that reached their egress limit of the month, and the instances that may not send for it. In memory alone. */
export class EgressLimits {
  #used: ReadonlySet<string> = new Set();
  readonly #cut = new WeakSet<Instance>();

  /** Replaces the teams that may send no more. */
  set used(teamIds: ReadonlySet<string>) {
    this.#used = teamIds;
  }

  isUsed(teamId: string): boolean {
    return this.#used.has(teamId);
  }

  isCut(instance: Instance): boolean {
    return this.#cut.has(instance);
  }

  /** Records what was put in force for an instance. */
  note(instance: Instance, cut: boolean): void {
    if (cut) this.#cut.add(instance);
    else this.#cut.delete(instance);
  }
}
