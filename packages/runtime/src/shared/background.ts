/** Tasks for which nobody waits, until everything must be over. */
export class Background {
  readonly #tasks = new Set<Promise<void>>();
  readonly #onFailure: (error: unknown) => void;

  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  add(task: Promise<void>): void {
    const guarded = task.catch(this.#onFailure).finally(() => this.#tasks.delete(guarded));
    this.#tasks.add(guarded);
  }

  /** Whether a task is under way. */
  get busy(): boolean {
    return this.#tasks.size > 0;
  }

  /** Settles once no task is left, those that others add meanwhile included. */
  async idle(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
  }
}
