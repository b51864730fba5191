/** How long after a failure the next try comes, ms. */
const DELAY_MS = 1_000;

/** Told of what fails again. */
interface RetryLog {
  warn(fields: object, message: string): void;
  debug(fields: object, message: string): void;
}

/** Work that failed and has to be done all the same: tried again until it is done, or the server stops. */
export class Retries {
  readonly #log: RetryLog;
  readonly #delayMs: number;
  readonly #due = new Map<string, () => Promise<unknown>>();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: { log: RetryLog /** Default 1000. */; delayMs?: number }) {
    this.#log = options.log;
    this.#delayMs = options.delayMs ?? DELAY_MS;
  }

  /** Adds work. It must be harmless to do it twice. @param key what is done to what: later work with it takes its place. */
  add(key: string, work: () => Promise<unknown>): void {
    this.#due.set(key, work);
    this.#schedule();
  }

  /** How much is due. */
  get size(): number {
    return this.#due.size;
  }

  /** Tries everything that is due now. */
  async run(): Promise<void> {
    for (const [key, work] of [...this.#due]) {
      if (this.#closed) return;
      try {
        await work();
        if (this.#due.get(key) === work) this.#due.delete(key);
      } catch (error) {
        this.#log.debug({ err: error, work: key }, 'due work failed again');
      }
    }
  }

  /** Ends the tries. What is still due is found by the recovery of the next start. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#round;
    if (this.#due.size > 0) this.#log.warn({ due: [...this.#due.keys()] }, 'work is left to the next start');
  }

  #schedule(): void {
    if (this.#closed || this.#timer !== undefined || this.#due.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#round = this.run().finally(() => {
        this.#timer = undefined;
        this.#schedule();
      });
    }, this.#delayMs);
    this.#timer.unref();
  }
}
