import { setTimeout as sleep } from 'node:timers/promises';

export interface WarmPoolOptions<Wish, Item> {
  /** Items are handed out for wishes of the same key. */
  keyOf(wish: Wish): string;
  make(wish: Wish, signal: AbortSignal): Promise<Item>;
  discard(item: Item): Promise<void>;
  /** Whether an item may still be handed out. */
  usable(item: Item): boolean;
  /** Told of an item that could not be made; the wish then rests until the next change or hand-out. */
  onFailure(error: unknown): void;
}

/**
 * Rest after a hand-out, ms: whoever got the item is about to use it, and making the next one costs as much processor time
 * as a first command. Under steady demand the rest ends all the same.
 */
const REST_MS = 100;
const LONGEST_REST_MS = 500;

/** Keeps things made in advance, as many of each kind as wished. One is made at a time, so that creates have the machine. */
export class WarmPool<Wish, Item> {
  readonly #options: WarmPoolOptions<Wish, Item>;
  readonly #items = new Map<string, Item[]>();
  readonly #closing = new AbortController();
  #wishes = new Map<string, { wish: Wish; size: number; failed: boolean }>();
  #filling: Promise<void> | undefined;
  #paused = 0;
  #restUntil = 0;
  #resume: (() => void) | undefined;

  constructor(options: WarmPoolOptions<Wish, Item>) {
    this.#options = options;
  }

  /** Replaces all wishes. What is no longer wished for is discarded in the background. */
  setWishes(wishes: { wish: Wish; size: number }[]): void {
    this.#wishes = new Map();
    for (const { wish, size } of wishes) {
      const key = this.#options.keyOf(wish);
      const known = this.#wishes.get(key);
      this.#wishes.set(key, { wish, size: (known?.size ?? 0) + size, failed: false });
    }
    this.#fill();
  }

  /** Drops wishes and their items; settles once the items are gone. */
  async drop(applies: (wish: Wish) => boolean): Promise<void> {
    for (const [key, entry] of this.#wishes) {
      if (applies(entry.wish)) this.#wishes.delete(key);
    }
    this.#fill();
    await this.#filling;
  }

  /** Gives an item that fits, and starts making the next one. */
  take(wish: Wish): Item | undefined {
    const key = this.#options.keyOf(wish);
    const items = this.#items.get(key);
    let item = items?.shift();
    while (item !== undefined && !this.#options.usable(item)) {
      void this.#options.discard(item).catch(this.#options.onFailure);
      item = items?.shift();
    }
    const entry = this.#wishes.get(key);
    if (item !== undefined) this.#restUntil = performance.now() + REST_MS;
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

  /** Settles once every wish is met or has failed. */
  async ready(): Promise<void> {
    while (this.#filling !== undefined) await this.#filling;
  }

  /** Stops and discards everything. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('The pool is closing.'));
    this.#resume?.();
    this.#wishes = new Map();
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
    // A tick later, so that a burst of hand-outs is seen whole.
    await Promise.resolve();
    for (let step = this.#nextStep(); step !== undefined; step = this.#nextStep()) await step();
  }

  #hasWork(): boolean {
    for (const [key, items] of this.#items) {
      if (items.length > (this.#wishes.get(key)?.size ?? 0)) return true;
    }
    for (const [key, entry] of this.#wishes) {
      if (!entry.failed && (this.#items.get(key)?.length ?? 0) < entry.size) return true;
    }
    return false;
  }

  #nextStep(): (() => Promise<void>) | undefined {
    for (const [key, items] of this.#items) {
      const surplus = items.length > (this.#wishes.get(key)?.size ?? 0) ? items.pop() : undefined;
      if (items.length === 0) this.#items.delete(key);
      if (surplus !== undefined) {
        return () => this.#options.discard(surplus).catch((error) => this.#options.onFailure(error));
      }
    }
    for (const [key, entry] of this.#wishes) {
      if (!entry.failed && (this.#items.get(key)?.length ?? 0) < entry.size) return () => this.#makeOne(key);
    }
    return undefined;
  }

  async #rest(): Promise<void> {
    const { signal } = this.#closing;
    const latest = performance.now() + LONGEST_REST_MS;
    while (!signal.aborted) {
      const left = Math.min(this.#restUntil, latest) - performance.now();
      if (left <= 0) return;
      await sleep(left, undefined, { signal }).catch(() => {});
    }
  }

  async #makeOne(key: string): Promise<void> {
    await this.#rest();
    while (this.#paused > 0 && !this.#closing.signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
      });
    }
    const entry = this.#wishes.get(key);
    if (entry === undefined) return;
    try {
      const item = await this.#options.make(entry.wish, this.#closing.signal);
      const items = this.#items.get(key);
      if (items === undefined) this.#items.set(key, [item]);
      else items.push(item);
    } catch (error) {
      entry.failed = true;
      if (!this.#closing.signal.aborted) this.#options.onFailure(error);
    }
  }
}
