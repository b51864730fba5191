import type { SentBytes } from '../../contract/driver.js';
import type { LinkSent } from './read-counters.js';

/** Computes from counts by lease the bytes of each instance, also of those that ended since they were last read. */
export class SentTotals {
  /** The last owner of each lease. */
  readonly #holders = new Map<number, string>();
  readonly #counted = new Map<number, number>();
  readonly #totals = new Map<string, number>();

  /** An instance got a lease. */
  hold(lease: number, instanceId: string): void {
    this.#holders.set(lease, instanceId);
  }

  /**
   * @param counts of all leases; one that is not among them, or has less than before, began anew
   * @param living leases of instances that run; others are returned once more, and forgotten
   */
  take(counts: readonly LinkSent[], living: ReadonlyMap<number, string>): SentBytes[] {
    for (const [lease, id] of living) this.hold(lease, id);
    const before = new Map(this.#counted);
    this.#counted.clear();
    for (const { lease, bytes } of counts) {
      this.#counted.set(lease, bytes);
      const known = before.get(lease) ?? 0;
      const added = bytes < known ? bytes : bytes - known;
      const holder = this.#holders.get(lease);
      if (holder !== undefined && added > 0)
        this.#totals.set(holder, (this.#totals.get(holder) ?? 0) + added);
    }
    const totals = [...this.#totals].map(([instanceId, bytes]) => ({ instanceId, bytes }));
    const ids = new Set(living.values());
    for (const id of this.#totals.keys()) if (!ids.has(id)) this.#totals.delete(id);
    return totals;
  }
}
