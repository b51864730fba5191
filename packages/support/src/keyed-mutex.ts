/** Runs tasks of the same key one after another, tasks of different keys side by side. */
export class KeyedMutex {
  readonly #tails = new Map<string, Promise<void>>();

  /** Settles like `task`; waits for everything that was started earlier under `key`. */
  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const turn = before.then(task);
    const tail = turn.then(
      () => undefined,
      () => undefined,
    );
    this.#tails.set(key, tail);
    try {
      return await turn;
    } finally {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }

  /** Settles once nothing runs or waits any more, tasks added meanwhile included. */
  async idle(): Promise<void> {
    while (this.#tails.size > 0) await Promise.all(this.#tails.values());
  }
}
