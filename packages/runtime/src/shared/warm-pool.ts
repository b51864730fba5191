import { setTimeout as sleep } from 'node:timers/promises';

export interface WarmPoolOptions<Spec, Item> {
  /** Items of the same key are alike. */
  keyOf(spec: Spec): string;
  make(spec: Spec, signal: AbortSignal): Promise<Item>;
  discard(item: Item): Promise<void>;
  /** Whether an item may still be taken. */
  usable(item: Item): boolean;
  /** Told of an item that could not be made. None of its kind is made until the next change or the next that is taken. */
  onFailure(error: unknown): void;
}

/**
 * Pause after an item was taken, ms: whoever got it is about to use it, and making the next one costs as much processor
 * time as a first command. Under steady demand the pause ends all the same.
 */
const PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 500;

/** Keeps things made in advance, as many of each kind as desired. Makes one at a time, to leave the machine to creates. */
export class WarmPool<Spec, Item> {
  readonly #options: WarmPoolOptions<Spec, Item>;
  readonly #items = new Map<string, Item[]>();
  readonly #closing = new AbortController();
  #desired = new Map<string, { spec: Spec; size: number; failed: boolean }>();
  #filling: Promise<void> | undefined;
  #paused = 0;
  #pausedUntil = 0;
  #resume: (() => void) | undefined;

  constructor(options: WarmPoolOptions<Spec, Item>) {
    this.#options = options;
  }

  /** Replaces what is desired. What is in excess is discarded in the background. */
  setDesired(desired: readonly { spec: Spec; size: number }[]): void {
    this.#desired = new Map();
    for (const { spec, size } of desired) {
      const key = this.#options.keyOf(spec);
      const known = this.#desired.get(key);
      this.#desired.set(key, { spec, size: (known?.size ?? 0) + size, failed: false });
    }
    this.#fill();
  }

  /** Desires some kinds no more; settles once their items are gone. */
  async drop(applies: (spec: Spec) => boolean): Promise<void> {
    for (const [key, entry] of this.#desired) {
      if (applies(entry.spec)) this.#desired.delete(key);
    }
    this.#fill();
    await this.#filling;
  }

  /** Gives an item that fits, and starts making the next one. */
  take(spec: Spec): Item | undefined {
    const key = this.#options.keyOf(spec);
    const items = this.#items.get(key);
    let item = items?.shift();
    while (item !== undefined && !this.#options.usable(item)) {
      void this.#options.discard(item).catch(this.#options.onFailure);
      item = items?.shift();
    }
    const entry = this.#desired.get(key);
    if (item !== undefined) this.#pausedUntil = performance.now() + PAUSE_MS;
    if (entry !== undefined) {
      entry.failed = false;
      this.#fill();
    }
    return item;
  }

  /** Makes nothing while `task` runs: what somebody waits for comes first. */
  async yieldTo<T>(task: () => Promise<T>): Promise<T> {
    this.#paused += 1;
    try {
      return await task();
    } finally {
      this.#paused -= 1;
      if (this.#paused === 0) this.#resume?.();
    }
  }

  /** Settles once there are as many items as desired, or some could not be made. */
  async ready(): Promise<void> {
    while (this.#filling !== undefined) await this.#filling;
  }

  /** Stops and discards everything. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('The pool is closing.'));
    this.#resume?.();
    this.#desired = new Map();
    await this.ready();
    this.#fill();
    await this.ready();
  }

  #fill(): void {
    this.#filling ??= this.#work().finally(() => {
      this.#filling = undefined;
      if (this.#hasWork()) this.#fill();
    });
  }

  async #work(): Promise<void> {
    // A tick later, so that a burst of them is seen whole.
    await Promise.resolve();
    for (let step = this.#nextStep(); step !== undefined; step = this.#nextStep()) await step();
  }

  #hasWork(): boolean {
    for (const [key, items] of this.#items) {
      if (items.length > (this.#desired.get(key)?.size ?? 0)) return true;
    }
    for (const [key, entry] of this.#desired) {
      if (!entry.failed && (this.#items.get(key)?.length ?? 0) < entry.size) return true;
    }
    return false;
  }

  #nextStep(): (() => Promise<void>) | undefined {
    for (const [key, items] of this.#items) {
      const surplus = items.length > (this.#desired.get(key)?.size ?? 0) ? items.pop() : undefined;
      if (items.length === 0) this.#items.delete(key);
      if (surplus !== undefined) {
        return () => this.#options.discard(surplus).catch((error) => this.#options.onFailure(error));
      }
    }
    for (const [key, entry] of this.#desired) {
      if (!entry.failed && (this.#items.get(key)?.length ?? 0) < entry.size) return () => this.#makeOne(key);
    }
    return undefined;
  }

  async #pause(): Promise<void> {
    const { signal } = this.#closing;
    const latest = performance.now() + LONGEST_PAUSE_MS;
    while (!signal.aborted) {
      const left = Math.min(this.#pausedUntil, latest) - performance.now();
      if (left <= 0) return;
      await sleep(left, undefined, { signal }).catch(() => {});
    }
  }

  async #makeOne(key: string): Promise<void> {
    await this.#pause();
    while (this.#paused > 0 && !this.#closing.signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
      });
    }
    const entry = this.#desired.get(key);
    if (entry === undefined) return;
    try {
      const item = await this.#options.make(entry.spec, this.#closing.signal);
      const items = this.#items.get(key);
      if (items === undefined) this.#items.set(key, [item]);
      else items.push(item);
    } catch (error) {
      entry.failed = true;
      if (!this.#closing.signal.aborted) this.#options.onFailure(error);
    }
  }
}
