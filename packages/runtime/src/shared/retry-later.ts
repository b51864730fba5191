/** The time until a failed task is tried again, ms. */
const RETRY_MS = 60_000;

export interface RetryOptions {
  onFailure: (name: string, error: unknown) => void;
  /** Default one minute. */
  intervalMs?: number;
}

/** Clean-up whose failure must not fail its caller: a task that fails is logged and tried again until it succeeds. */
export class RetryLater {
  readonly #options: RetryOptions;
  readonly #failed = new Map<string, () => Promise<unknown>>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: RetryOptions) {
    this.#options = options;
  }

  /** Names of the tasks that wait to be tried again. */
  get waiting(): string[] {
    return [...this.#failed.keys()];
  }

  /** Runs a task. Never rejects. @returns whether it succeeded at once */
  async attempt(name: string, task: () => Promise<unknown>): Promise<boolean> {
    this.#failed.delete(name);
    try {
      await task();
      return true;
    } catch (error) {
      this.#options.onFailure(name, error);
      this.#failed.set(name, task);
      this.#schedule();
      return false;
    }
  }

  /** Tries everything that failed once more, one after another. */
  async retry(): Promise<void> {
    for (const [name, task] of [...this.#failed]) if (!this.#closed) await this.attempt(name, task);
  }

  /** Tries nothing any more. What still waits is found again at the next start. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#closed || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.retry();
    }, this.#options.intervalMs ?? RETRY_MS);
    this.#timer.unref();
  }
}
