/** What a run of the fuzzer saw. */
export class FuzzReport {
  readonly #counts = new Map<string, Map<string, number>>();
  readonly failures: string[] = [];
  requests = 0;

  count(what: string, outcome: string | number): void {
    this.requests += 1;
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

  toString(): string {
    const totals = new Map<string, number>();
    for (const outcomes of this.#counts.values())
      for (const [outcome, count] of outcomes) totals.set(outcome, (totals.get(outcome) ?? 0) + count);
    const shown = [...totals].sort((a, b) => b[1] - a[1]).map(([outcome, count]) => `${outcome} x ${count}`);
    return `${this.requests} requests to ${this.#counts.size} operations, RPCs and routes: ${shown.join(', ')}`;
  }
}
