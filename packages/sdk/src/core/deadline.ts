// The one file with timers and aborts. Nothing else in this package calls setTimeout or makes an AbortController.

export interface DeadlineOptions {
  /** The caller's signal. Its reason is rethrown as it is. */
  signal?: AbortSignal | undefined;
  /** Longest time, ms. 0 or absent: none. */
  timeoutMs?: number | undefined;
  /** Makes the error for the time limit. */
  onTimeout?: (limitMs: number) => Error;
}

/** Longest delay that timers of JavaScript can count, ms. */
const longestTimer = 2 ** 31 - 1;

/**
 * Waits for a promise, and keeps the program running as long. The connections of streams do not, and neither do the time
 * limits here, so that what nobody waits for never holds a program open.
 */
export async function holdOpen<T>(promise: Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, longestTimer);
  try {
    return await promise;
  } finally {
    clearInterval(timer);
  }
}

/** Lets the program end before the timer fires. Timers of browsers are numbers. */
function unref(timer: ReturnType<typeof setTimeout>): void {
  (timer as { unref?: () => void }).unref?.();
}

/**
 * One signal for a piece of work, from the caller's signal and a time limit. The first of them to fire wins, and its
 * reason is what the work ends with. `release` it when the work is over: it holds a timer and listens to the caller.
 */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #options: DeadlineOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #endsAt: number | undefined;

  constructor(options: DeadlineOptions) {
    this.#options = options;
    const { signal } = options;
    if (signal?.aborted) this.#controller.abort(signal.reason);
    else signal?.addEventListener('abort', this.#follow, { once: true });
    this.restart(options.timeoutMs ?? 0);
  }

  /** Fires with the caller's reason, or with the timeout error. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Time until the limit fires, ms. Undefined without a limit. */
  get remainingMs(): number | undefined {
    return this.#endsAt === undefined ? undefined : Math.max(0, this.#endsAt - performance.now());
  }

  /** Sets the time limit anew, counted from now, ms, with its own error if given. 0 removes it. The caller's signal stays. */
  restart(timeoutMs: number, onTimeout = this.#options.onTimeout): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#endsAt = undefined;
    if (timeoutMs <= 0 || timeoutMs > longestTimer || this.signal.aborted) return;
    this.#endsAt = performance.now() + timeoutMs;
    this.#timer = setTimeout(() => {
      this.abort(onTimeout?.(timeoutMs) ?? new Error(`No result within ${timeoutMs} ms`));
    }, timeoutMs);
    unref(this.#timer);
  }

  /** Ends the work with a reason. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
    this.release();
  }

  /** Stops the timer and no longer follows the caller. The signal does not fire for it. */
  release(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#options.signal?.removeEventListener('abort', this.#follow);
  }

  /** Runs work until it ends or the signal fires, whichever is first; then throws the signal's reason. */
  async run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.signal.throwIfAborted();
    return holdOpen(raceAbort(work(this.signal), this.signal));
  }

  readonly #follow = (): void => this.abort(this.#options.signal?.reason);
}

/** Waits for a promise until a signal fires; then throws the signal's reason, also when the work failed because of it. */
export async function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    aborted.catch(() => {});
    work.catch(() => {});
  }
}

/** Waits, unless the signal fires first; then throws its reason. */
export function sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(done, Math.min(Math.max(0, delayMs), longestTimer));
    signal?.addEventListener('abort', stop, { once: true });
    function done(): void {
      signal?.removeEventListener('abort', stop);
      resolve();
    }
    function stop(): void {
      clearTimeout(timer);
      reject(signal?.reason);
    }
  });
}

/**
 * Returns true when a promise settles within a time, ms. Its rejection counts as settling and is not thrown. Does not keep the
 * program running.
 */
export async function settlesWithin(promise: Promise<unknown>, limitMs: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, limitMs, false);
    unref(timer);
  });
  const settled = promise.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Calls back when a signal fires, at once when it has. Returns what stops listening. */
export function onAbort(signal: AbortSignal | undefined, listener: (reason: unknown) => void): () => void {
  if (!signal) return () => {};
  const fire = () => listener(signal.reason);
  if (signal.aborted) fire();
  else signal.addEventListener('abort', fire, { once: true });
  return () => signal.removeEventListener('abort', fire);
}
