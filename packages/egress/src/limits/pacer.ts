/** The rate: so many at once, and so many more each second. */
export interface PaceRate {
  burst: number;
  perSecond: number;
}

/** Lets those who come faster than a rate wait: the leaky bucket, one for each. */
export class Pacer {
  readonly #rate: PaceRate;
  readonly #now: () => number;
  /** When all that were admitted would have come at the rate, ms. Those in the past say nothing. */
  readonly #next = new Map<string, number>();

  constructor(rate: PaceRate, now: () => number = () => performance.now()) {
    this.#rate = rate;
    this.#now = now;
  }

  /** Counts one. @returns how long it has to wait, ms */
  take(id: string): number {
    const now = this.#now();
    const each = 1_000 / this.#rate.perSecond;
    const next = Math.max(this.#next.get(id) ?? 0, now) + each;
    this.#next.set(id, next);
    if (this.#next.size > 10_000)
      for (const [other, at] of this.#next) if (at <= now) this.#next.delete(other);
    return Math.max(0, next - now - this.#rate.burst * each);
  }
}
