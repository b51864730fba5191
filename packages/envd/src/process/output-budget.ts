/** Memory that the kept output of all processes may take, bytes. */
export const TOTAL_KEPT_BYTES = 4 * 1024 * 1024;
/** How far below the bound it is brought when the bound is reached, so that the next piece finds room. */
const STEP_BYTES = 256 * 1024;

/** One process's share of the budget. */
export interface BudgetHolder {
  /** Memory that it holds, bytes. */
  readonly cost: number;
  /** Gives the oldest part of it back. False when there is nothing that may go. */
  dropOldest(): boolean;
}

/** Bounds the kept output of all processes together: the process that keeps most loses its oldest first. */
export class OutputBudget {
  readonly #holders = new Set<BudgetHolder>();
  #bytes = 0;

  /** Memory that is held, bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts bytes that an output keeps in addition, or fewer when negative. */
  charge(holder: BudgetHolder, bytes: number): void {
    this.#bytes += bytes;
    this.#holders.add(holder);
    if (this.#bytes > TOTAL_KEPT_BYTES && bytes > 0) this.#shrink(TOTAL_KEPT_BYTES - STEP_BYTES);
  }

  /** An output is no longer kept. */
  forget(holder: BudgetHolder): void {
    if (this.#holders.delete(holder)) this.#bytes -= holder.cost;
  }

  #shrink(goal: number): void {
    const held = new Set<BudgetHolder>();
    while (this.#bytes > goal) {
      let largest: BudgetHolder | undefined;
      for (const holder of this.#holders) {
        if (!held.has(holder) && holder.cost > (largest?.cost ?? 0)) largest = holder;
      }
      if (!largest) return;
      // Its readers still have to get everything that it has.
      if (!largest.dropOldest()) held.add(largest);
    }
  }
}
