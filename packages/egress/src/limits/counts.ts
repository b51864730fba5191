/** Counts by key. Keys with none take no room. */
export class Counts {
  readonly #counts = new Map<string, number>();

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  /** @returns what takes them out again, once */
  add(key: string, count = 1): () => void {
    this.#counts.set(key, this.of(key) + count);
    let there = true;
    return () => {
      if (!there) return;
      there = false;
      const left = this.of(key) - count;
      if (left === 0) this.#counts.delete(key);
      else this.#counts.set(key, left);
    };
  }
}
