/** The rate of queries: so many at once, and so many more each second. */
export interface QueryRate {
  burst: number;
  perSecond: number;
}

/** Counts queries of each sandbox against a rate. */
export class QueryCounter {
  readonly #rate: QueryRate;
  readonly #now: () => number;
  readonly #buckets = new Map<string, { left: number; at: number }>();

  constructor(rate: QueryRate, now: () => number = () => performance.now()) {
    this.#rate = rate;
    this.#now = now;
  }

  /** Counts one, unless there are too many. */
  admit(id: string): boolean {
    const now = this.#now();
    const { burst, perSecond } = this.#rate;
    const bucket = this.#buckets.get(id);
    const left =
      bucket === undefined ? burst : Math.min(burst, bucket.left + ((now - bucket.at) / 1_000) * perSecond);
    this.#buckets.set(id, { left: left >= 1 ? left - 1 : left, at: now });
    if (this.#buckets.size > 10_000) this.#forgetFull(now);
    return left >= 1;
  }

  /** A bucket that is full again is as good as none. */
  #forgetFull(now: number): void {
    const { burst, perSecond } = this.#rate;
    for (const [id, { left, at }] of this.#buckets)
      if (left + ((now - at) / 1_000) * perSecond >= burst) this.#buckets.delete(id);
  }
}
