/** Runs at most so many tasks at once for each key; the others wait in their order. */
export class BoundedWork {
  readonly #atOnce: number;
  readonly #waitingMost: number;
  readonly #byKey = new Map<string, { running: number; waiting: (() => void)[] }>();

  constructor(limits: { atOnce: number; waiting: number }) {
    this.#atOnce = limits.atOnce;
    this.#waitingMost = limits.waiting;
  }

  /** @throws {Error} at once when as many wait already as may, and what `work` throws. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    let lane = this.#byKey.get(key);
    if (lane === undefined) {
      lane = { running: 0, waiting: [] };
      this.#byKey.set(key, lane);
    }
    const { waiting } = lane;
    if (lane.running >= this.#atOnce) {
      if (waiting.length >= this.#waitingMost) throw new Error('too much is asked for at once');
      // Whoever ends hands its place on.
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else lane.running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next !== undefined) next();
      else {
        lane.running -= 1;
        if (lane.running === 0) this.#byKey.delete(key);
      }
    }
  }
}
