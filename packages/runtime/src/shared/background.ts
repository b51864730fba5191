/** Tasks for which nobody waits, until everything must be over. */
export class Background {
  readonly #tasks = new Set<Promise<void>>();
  readonly #onFailure: (error: unknown) => void;
  #lastEndedMs = Number.NEGATIVE_INFINITY;

  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  add(task: Promise<void>): void {
    const guarded = task.catch(this.#onFailure).finally(() => {
      this.#tasks.delete(guarded);
      this.#lastEndedMs = performance.now();
    });
    this.#tasks.add(guarded);
  }

  /** For how long no task has been under way, ms; 0 while one is, infinite before the first. */
  get idleForMs(): number {
    return this.#tasks.size > 0 ? 0 : performance.now() - this.#lastEndedMs;
  }

  /** Settles once no task is left, those that others add meanwhile included. */
  async idle(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
  }
}
