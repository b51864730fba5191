/** The observations of a run of the fuzzer. */
export class FuzzReport {
  readonly #counts = new Map<string, Map<string, number>>();
  readonly failures: string[] = [];
  requests = 0;

  /** Longest time of one request, ms, by what it was. */
  readonly #slowest = new Map<string, number>();

  count(what: string, outcome: string | number, beganAt?: number): void {
    this.requests += 1;
    if (beganAt !== undefined)
      this.#slowest.set(what, Math.max(this.#slowest.get(what) ?? 0, performance.now() - beganAt));
    const outcomes = this.#counts.get(what) ?? new Map<string, number>();
    this.#counts.set(what, outcomes.set(String(outcome), (outcomes.get(String(outcome)) ?? 0) + 1));
  }

  fail(what: string): void {
    if (this.failures.length < 50) this.failures.push(what);
  }

  /** Names that were never tried. */
  missing(all: readonly string[]): string[] {
    return all.filter((one) => !this.#counts.has(one));
  }

  /** The three operations that took longest. */
  slowest(): string {
    const sorted = [...this.#slowest].sort((a, b) => b[1] - a[1]).slice(0, 3);
    return sorted.map(([what, ms]) => `${what} ${Math.round(ms)} ms`).join(', ');
  }

  toString(): string {
    const totals = new Map<string, number>();
    for (const outcomes of this.#counts.values())
      for (const [outcome, count] of outcomes) totals.set(outcome, (totals.get(outcome) ?? 0) + count);
    const shown = [...totals].sort((a, b) => b[1] - a[1]).map(([outcome, count]) => `${outcome} x ${count}`);
    return `${this.requests} requests to ${this.#counts.size} operations, RPCs and routes: ${shown.join(', ')}`;
  }
}
