/** Something that happens at a moment of the clock. */
interface Timer {
  readonly atMs: number;
  readonly order: number;
  run(): void;
  cancelled: boolean;
  /** It ends what was meant to continue: `runUntil` comes to it when nothing else happens. */
  readonly isEnd: boolean;
}

/** Time without events before `runUntil` ends something, ms of real time: a client that loads its code is slow. */
const patienceMs = 1_500;

/**
 * The time of a test service. It does not move until the test moves it: nothing ends, expires or answers late by itself.
 */
export class TestClock {
  #nowMs: number;
  #order = 0;
  /** Sorted, soonest first. */
  #timers: Timer[] = [];
  #cancelled = 0;

  /** @param startMs where it begins, ms since 1970; default: the time of the machine. */
  constructor(startMs: number = Date.now()) {
    this.#nowMs = startMs;
  }

  /** Milliseconds since 1970. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /**
   * Moves the time on. Everything that is due happens in order, each at its own moment, and what follows from it has run
   * when this settles: an ended sandbox has closed its streams, a program that slept has printed.
   * @param ms at least 0
   * @example
   * await service.clock.advance(60_000);
   */
  async advance(ms: number): Promise<void> {
    if (!(ms >= 0)) throw new RangeError(`clock.advance: the time moves forward only, got ${ms} ms.`);
    const target = this.#nowMs + ms;
    await settle();
    for (;;) {
      const next = this.#takeDue(target);
      if (!next) break;
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.run();
      await settle();
    }
    this.#nowMs = target;
    await settle();
  }

  /**
   * Moves the time from one thing that is due to the next until `work` settles, and gives its result. What waits for real
   * time meanwhile, as a client does before it repeats a call, is waited for.
   * @param options `idleMs`: how long nothing may be due before it gives up, in real time. Default 4 000.
   * @throws Error when nothing more is due and `work` does not settle: it waits for something that is not on this clock.
   * @example
   * const result = await service.clock.runUntil(sandbox.commands.run('make'));
   */
  async runUntil<T>(work: PromiseLike<T>, options: { idleMs?: number } = {}): Promise<T> {
    const { idleMs = 4_000 } = options;
    let settled = false;
    const result = Promise.resolve(work).finally(() => {
      settled = true;
    });
    result.catch(() => {});
    for (let idleSince = performance.now(); !settled; ) {
      await settle();
      if (settled) break;
      const idle = performance.now() - idleSince;
      const next = this.#takeNext(idle > Math.min(patienceMs, idleMs));
      if (next) {
        idleSince = performance.now();
        this.#nowMs = Math.max(this.#nowMs, next.atMs);
        next.run();
      } else if (idle > idleMs) {
        throw new Error(
          `clock.runUntil: nothing was due on the clock for ${idleMs} ms, and the work still waits. It waits for something else: its own input, a real timer. Wait for that first, or raise idleMs.`,
        );
      } else await pause(idleMs === 0 ? 0 : 2);
    }
    return result;
  }

  /** @internal Runs `run` after so many ms of this clock. Gives what cancels it. `isEnd`: it ends something by its time limit. */
  after(ms: number, run: () => void, { isEnd = false } = {}): () => void {
    const timer: Timer = {
      isEnd,
      atMs: this.#nowMs + Math.max(0, ms),
      order: ++this.#order,
      run,
      cancelled: false,
    };
    this.#timers.splice(this.#placeOf(timer), 0, timer);
    return () => {
      if (timer.cancelled) return;
      timer.cancelled = true;
      this.#cancelled += 1;
      // Swept in bulk: taking each out by itself would cost a search and a shift.
      if (this.#cancelled > 64 && this.#cancelled * 2 > this.#timers.length) this.#sweep();
    };
  }

  /** @internal Waits so many ms of this clock; rejects with the signal's reason when it fires first. */
  sleep(ms: number, signal?: AbortSignal, options: { isEnd?: boolean } = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const onAbort = () => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = this.after(
        ms,
        () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
        options,
      );
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  #takeDue(untilMs: number): Timer | undefined {
    for (;;) {
      const [first] = this.#timers;
      if (!first || (!first.cancelled && first.atMs > untilMs)) return undefined;
      this.#timers.shift();
      if (!first.cancelled) {
        first.cancelled = true;
        return first;
      }
      this.#cancelled -= 1;
    }
  }

  /** The next timer. Where nothing is left but what ends something: only when asked. */
  #takeNext(endsToo: boolean): Timer | undefined {
    const isDue = endsToo || this.#timers.some(({ cancelled, isEnd }) => !cancelled && !isEnd);
    return isDue ? this.#takeDue(Number.POSITIVE_INFINITY) : undefined;
  }

  #sweep(): void {
    this.#timers = this.#timers.filter(({ cancelled }) => !cancelled);
    this.#cancelled = 0;
  }

  /** Index behind everything that is due no later. */
  #placeOf({ atMs }: Timer): number {
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#timers[middle] as Timer).atMs <= atMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Turns of the loop in which the consequences of one moment run their course: a request passes through several streams. */
const settleTurns = 8;

/** @internal Lets everything run that is ready to. Whole turns of the loop, since streams and RPCs take many microtasks. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < settleTurns; turn += 1) await nextTurn();
}

/** Taken at load, so that a framework's fake timers do not stop this clock. */
const realSetTimeout = globalThis.setTimeout;
const channel = (globalThis as { setImmediate?: (run: () => void) => unknown }).setImmediate;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void realSetTimeout(resolve, ms));
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => void (channel ? channel(resolve) : realSetTimeout(resolve, 0)));
}
