/** Events that wait for their one reader. Those that are too many are dropped, the oldest first. */
export class EventQueue<T> {
  readonly #waiting: T[] = [];
  readonly #limit: number;
  #wake: (() => void) | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(event: T): void {
    this.#waiting.push(event);
    if (this.#waiting.length > this.#limit) this.#waiting.shift();
    this.#wake?.();
  }

  /** Gives events as they come, until the signal aborts. */
  async *read(signal: AbortSignal): AsyncGenerator<T> {
    const wake = () => this.#wake?.();
    signal.addEventListener('abort', wake);
    try {
      while (!signal.aborted) {
        const next = this.#waiting.shift();
        if (next !== undefined) yield next;
        else
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
      }
    } finally {
      signal.removeEventListener('abort', wake);
    }
  }
}
