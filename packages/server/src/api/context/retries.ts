/** Delay between a failure and the next try, ms. */
const DELAY_MS = 1_000;

/** The log for repeated failures. */
interface RetryLog {
  warn(fields: object, message: string): void;
  debug(fields: object, message: string): void;
}

export interface RetryOptions {
  /** True when the first try comes at once. */
  atOnce?: boolean;
  /** The delay doubles from try to try up to this, ms. Default: it stays as it is. */
  maxDelayMs?: number;
}

interface Due {
  work: () => Promise<unknown>;
  delayMs: number;
  maxDelayMs: number;
  /** The time of the next try, by `performance.now()`. */
  nextAtMs: number;
  trying: boolean;
}

/** Work that failed and has to be done all the same: tried again until it is done, or the server stops. */
export class Retries {
  readonly #log: RetryLog;
  readonly #delayMs: number;
  readonly #due = new Map<string, Due>();
  readonly #underWay = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #inRound = false;
  #closed = false;

  constructor(options: { log: RetryLog /** Default 1000. */; delayMs?: number }) {
    this.#log = options.log;
    this.#delayMs = options.delayMs ?? DELAY_MS;
  }

  /** Adds work. It must be harmless to do it twice. @param key what is done to what: later work with it takes its place. */
  add(key: string, work: () => Promise<unknown>, options: RetryOptions = {}): void {
    const delayMs = this.#delayMs;
    const due: Due = {
      ...{ work, delayMs, maxDelayMs: options.maxDelayMs ?? delayMs },
      ...{ nextAtMs: performance.now() + delayMs, trying: false },
    };
    this.#due.set(key, due);
    if (options.atOnce === true && !this.#closed) this.#track(this.#try(key, due));
    this.#schedule();
  }

  /** The number of works that are due. */
  get size(): number {
    return this.#due.size;
  }

  /** Tries everything that there is to do now, one after another. */
  run(): Promise<void> {
    return this.#round(() => true);
  }

  /** Ends the tries. What is still due is found by the recovery of the next start. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await Promise.all(this.#underWay);
    if (this.#due.size > 0) this.#log.warn({ due: [...this.#due.keys()] }, 'work is left to the next start');
  }

  async #round(isNext: (due: Due) => boolean): Promise<void> {
    for (const [key, due] of [...this.#due]) {
      if (this.#closed) return;
      if (isNext(due)) await this.#try(key, due);
    }
  }

  async #try(key: string, due: Due): Promise<void> {
    if (due.trying) return;
    due.trying = true;
    try {
      await due.work();
      if (this.#due.get(key) === due) this.#due.delete(key);
    } catch (error) {
      this.#log.debug({ err: error, work: key }, 'retried work failed again');
      due.nextAtMs = performance.now() + due.delayMs;
      due.delayMs = Math.min(due.delayMs * 2, due.maxDelayMs);
    } finally {
      due.trying = false;
      this.#schedule();
    }
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }

  /** One round at a time: the next one begins when the first of what waits is due. */
  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#closed || this.#inRound) return;
    const next = Math.min(...[...this.#due.values()].filter((due) => !due.trying).map((due) => due.nextAtMs));
    if (next === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(
      () => {
        this.#inRound = true;
        const now = performance.now();
        this.#track(
          this.#round((due) => due.nextAtMs <= now + 1).finally(() => {
            this.#inRound = false;
            this.#schedule();
          }),
        );
      },
      Math.max(0, next - performance.now()),
    );
    this.#timer.unref();
  }
}
