/** Ends everything that listens to it, once. An `AbortSignal` with as many listeners would warn of a leak. */
export class Stop {
  #reason: unknown;
  readonly #listeners = new Set<(reason: unknown) => void>();

  /** Why it fired; undefined before. */
  get reason(): unknown {
    return this.#reason;
  }

  fire(reason: unknown): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    for (const listener of [...this.#listeners]) listener(reason);
    this.#listeners.clear();
  }

  /** Gives what takes the listener away. */
  onFire(listener: (reason: unknown) => void): () => void {
    if (this.#reason !== undefined) listener(this.#reason);
    else this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/**
 * One signal that follows several, until it is released: `AbortSignal.any` would stay with the longest-lived of them for as
 * long as that lives.
 */
export function linkSignals(sources: readonly (AbortSignal | null | undefined)[], stop: Stop) {
  const controller = new AbortController();
  const onAbort = (event: Event) => controller.abort((event.target as AbortSignal).reason);
  const followed = sources.filter((source) => source !== null && source !== undefined);
  for (const source of followed) {
    if (source.aborted) controller.abort(source.reason);
    else source.addEventListener('abort', onAbort);
  }
  const leave = stop.onFire((reason) => controller.abort(reason));
  return {
    signal: controller.signal,
    abort: (reason: unknown) => controller.abort(reason),
    release() {
      leave();
      for (const source of followed) source.removeEventListener('abort', onAbort);
    },
  };
}
