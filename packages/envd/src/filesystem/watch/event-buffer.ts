/**
 * Holds items between a producer that cannot wait and a consumer that may be slow. It fails for good when it is full:
 * a consumer must not believe that it saw everything.
 */
export class EventBuffer<T> {
  readonly #limit: number;
  #items: T[] = [];
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False when there is no room, or after a failure; the item is lost then. */
  push(item: T): boolean {
    if (this.#failure || this.#items.length >= this.#limit) return false;
    this.#items.push(item);
    this.#wake?.();
    return true;
  }

  /** The first failure stays. */
  fail(error: Error): void {
    this.#failure ??= error;
    this.#wake?.();
  }

  /** Takes everything there is, oldest first. @throws the failure, on every call. */
  drain(): T[] {
    if (this.#failure) throw this.#failure;
    const items = this.#items;
    this.#items = [];
    return items;
  }

  /** Waits until there is something to drain, a failure included. False when the time was over first. One caller at a time. */
  async wait(timeoutMs: number): Promise<boolean> {
    if (this.#failure || this.#items.length > 0) return true;
    return new Promise((resolve) => {
      const done = (woken: boolean): void => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve(woken);
      };
      const timer = setTimeout(() => done(false), timeoutMs);
      this.#wake = () => done(true);
    });
  }
}
