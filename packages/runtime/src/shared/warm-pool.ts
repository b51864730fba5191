import { setTimeout as sleep } from 'node:timers/promises';
import { PoolDemand, poolSizes } from './pool-demand.js';

export interface WarmPoolOptions<Spec, Item> {
  /** Items of the same key are alike. */
  keyOf(spec: Spec): string;
  make(spec: Spec, signal: AbortSignal): Promise<Item>;
  discard(item: Item): Promise<void>;
  /** Returns true if an item may still be taken. */
  usable(item: Item): boolean;
  /** Called for an item that could not be made. None of its kind is made until the next change or the next that is taken. */
  onFailure(error: unknown): void;
  /** Absent: there are never more items than desired. */
  growth?: PoolGrowth<Spec, Item>;
  /** ms of a clock that never goes back. Default the process's own. */
  now?(): number;
}

export interface PoolGrowth<Spec, Item> {
  /** Returns the specification to pool for requests like this one. Undefined: nothing serves them, or nothing is gained. */
  pooledSpecOf(spec: Spec): Spec | undefined;
  /** Memory that an item uses while it waits. */
  bytesOf(item: Item): number;
  /** Memory that more items could use now. */
  freeBytes(): number;
}

/**
 * Pause after an item was taken, ms: its user is about to use it, and making the next one costs as much processor
 * time as a first command. Under steady demand the pause ends all the same.
 */
const PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 500;

/** Between two looks at whether less is wanted than before, ms. */
const REVIEW_MS = 30_000;
/** The time for which the pool stays empty after it made room, ms. */
const SHED_MS = 30_000;
/** Kinds whose demand is followed: those that were asked for last. */
const MOST_KINDS = 200;
interface Cost {
  /** Memory that an item uses. */
  bytes: number;
  /** From the request for one until it is there. */
  makeMs: number;
}

/** Before the first was made. */
const FIRST_GUESS: Cost = { bytes: 32 * 2 ** 20, makeMs: 250 };

const lately = (before: Cost, now: Cost): Cost => ({
  bytes: 0.8 * before.bytes + 0.2 * now.bytes,
  makeMs: 0.8 * before.makeMs + 0.2 * now.makeMs,
});

interface Waiting<Spec, Item> {
  item: Item;
  /** The specification that it was made for. */
  spec: Spec;
  bytes: number;
}

interface Kind<Spec> {
  spec: Spec;
  /** Kept regardless of the demand. */
  least: number;
  /** Kept now. */
  size: number;
  failed: boolean;
  demand: PoolDemand;
}

/**
 * Keeps things made in advance: of each kind as many as desired and, where it may grow, as many as lately would have
 * sufficed. Makes one at a time, to leave the machine to creates.
 */
export class WarmPool<Spec, Item> {
  readonly #options: WarmPoolOptions<Spec, Item>;
  readonly #now: () => number;
  readonly #items = new Map<string, Waiting<Spec, Item>[]>();
  /** The items that are being made or discarded. */
  readonly #underWay = new Set<{ spec: Spec; over: Promise<void> }>();
  readonly #kinds = new Map<string, Kind<Spec>>();
  readonly #closing = new AbortController();
  /** The most that all items together may use where there are more than desired. */
  #growthBytes = 0;
  /** The cost of one item, as measured lately. */
  #cost: Cost | undefined;
  #hits = 0;
  #misses = 0;
  #shedUntil = Number.NEGATIVE_INFINITY;
  #review: NodeJS.Timeout | undefined;
  #refill: NodeJS.Timeout | undefined;
  #filling: Promise<void> | undefined;
  #paused = 0;
  #pausedUntil = 0;
  #resume: (() => void) | undefined;

  constructor(options: WarmPoolOptions<Spec, Item>) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * Replaces what is desired. What is in excess is discarded in the background.
   * @param growthBytes what all items together may use where lately more were asked for than desired. 0: no more are kept.
   */
  setDesired(desired: readonly { spec: Spec; size: number }[], growthBytes = 0): void {
    this.#growthBytes = this.#options.growth === undefined ? 0 : growthBytes;
    for (const [key, kind] of this.#kinds) {
      kind.least = 0;
      kind.failed = false;
      if (this.#growthBytes === 0) this.#kinds.delete(key);
    }
    for (const { spec, size } of desired) this.#kindOf(this.#options.keyOf(spec), () => spec).least += size;
    clearInterval(this.#review);
    if (this.#growthBytes > 0) this.#review = setInterval(() => this.#fill(), REVIEW_MS).unref();
    this.#fill();
  }

  /** Desires some kinds no more; settles once their items are discarded, regardless of others that are being made. */
  async drop(applies: (spec: Spec) => boolean): Promise<void> {
    for (const [key, { spec }] of this.#kinds) if (applies(spec)) this.#kinds.delete(key);
    const dropped = [...this.#items].filter(([, [first]]) => first !== undefined && applies(first.spec));
    for (const [key] of dropped) this.#items.delete(key);
    const discarding = dropped.flatMap(([, items]) => items.map((waiting) => this.#discard(waiting)));
    const underWay = [...this.#underWay].filter(({ spec }) => applies(spec)).map(({ over }) => over);
    await Promise.all([...discarding, ...underWay]);
  }

  /**
   * Discards all items, for there is no room for what somebody waits for, and makes none for half a minute.
   * @returns whether there were any.
   */
  async shed(): Promise<boolean> {
    const items = [...this.#items.values()].flat();
    if (items.length === 0) return false;
    this.#items.clear();
    this.#shedUntil = this.#now() + SHED_MS;
    clearTimeout(this.#refill);
    this.#refill = setTimeout(() => this.#fill(), SHED_MS).unref();
    await Promise.all(items.map((waiting) => this.#discard(waiting)));
    return true;
  }

  /** Gives an item that fits, and starts making the next one. */
  take(spec: Spec): Item | undefined {
    const key = this.#options.keyOf(spec);
    this.#note(key, spec);
    const items = this.#items.get(key);
    let found = items?.shift();
    while (found !== undefined && !this.#options.usable(found.item)) {
      void this.#discard(found);
      found = items?.shift();
    }
    if (found === undefined) this.#misses += 1;
    else {
      this.#hits += 1;
      this.#pausedUntil = performance.now() + PAUSE_MS;
    }
    const kind = this.#kinds.get(key);
    if (kind !== undefined) {
      kind.failed = false;
      this.#fill();
    }
    return found?.item;
  }

  /** Counts the item that was given last as one that was not there: it turned out to be of no use. */
  countAsMiss(): void {
    this.#hits -= 1;
    this.#misses += 1;
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

  /** The number of pooled and desired items, the memory they use, and the numbers of requests that found one and found none. */
  get state(): { waiting: number; wanted: number; bytes: number; hits: number; misses: number } {
    const items = [...this.#items.values()].flat();
    return {
      waiting: items.length,
      wanted: [...this.#kinds.values()].reduce((sum, { size }) => sum + size, 0),
      bytes: items.reduce((sum, { bytes }) => sum + bytes, 0),
      hits: this.#hits,
      misses: this.#misses,
    };
  }

  /** Settles once there are as many items as are to be kept, or some could not be made. */
  async ready(): Promise<void> {
    while (this.#filling !== undefined) await this.#filling;
  }

  /** Stops and discards everything. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('The pool is closing.'));
    clearInterval(this.#review);
    clearTimeout(this.#refill);
    this.#resume?.();
    this.#kinds.clear();
    await this.ready();
    this.#fill();
    await this.ready();
  }

  #kindOf(key: string, specOf: () => Spec): Kind<Spec> {
    const known = this.#kinds.get(key);
    if (known !== undefined) return known;
    const kind = { spec: specOf(), least: 0, size: 0, failed: false, demand: new PoolDemand() };
    this.#kinds.set(key, kind);
    return kind;
  }

  /** Remembers what is asked for, where that decides what is kept. */
  #note(key: string, spec: Spec): void {
    if (this.#growthBytes === 0 || this.#closing.signal.aborted) return;
    const pooled = this.#options.growth?.pooledSpecOf(spec);
    if (pooled === undefined) return;
    if (this.#kinds.size >= MOST_KINDS && !this.#kinds.has(key)) this.#forgetOne();
    this.#kindOf(key, () => pooled).demand.note(this.#now(), (this.#cost ?? FIRST_GUESS).makeMs);
  }

  #forgetOne(): void {
    const others = [...this.#kinds].filter(([, { least }]) => least === 0);
    const [oldest] = others.sort(([, a], [, b]) => a.demand.lastAt - b.demand.lastAt);
    if (oldest !== undefined) this.#kinds.delete(oldest[0]);
  }

  /** Decides how many of each kind are kept. */
  #plan(): void {
    const now = this.#now();
    const kinds = [...this.#kinds.values()];
    const growing = this.#growthBytes > 0;
    const desires = kinds.map(({ least, demand }) => ({ least, wanted: growing ? demand.wanted(now) : 0 }));
    const more = desires.some(({ least, wanted }) => wanted > least);
    const sizes = poolSizes(desires, more ? this.#room() : 0);
    for (const [index, kind] of kinds.entries()) kind.size = now < this.#shedUntil ? 0 : sizes[index]!;
  }

  /** The most items that there may be, all together. */
  #room(): number {
    const used = [...this.#items.values()].flat().reduce((sum, { bytes }) => sum + bytes, 0);
    const allowed = Math.min(this.#growthBytes, used + this.#options.growth!.freeBytes());
    return Math.floor(allowed / (this.#cost ?? FIRST_GUESS).bytes);
  }

  #discard({ item, spec }: Pick<Waiting<Spec, Item>, 'item' | 'spec'>): Promise<void> {
    return this.#during(spec, async () => {
      try {
        await this.#options.discard(item);
      } catch (error) {
        this.#options.onFailure(error);
      }
    });
  }

  /** Lets {@link drop} wait for work on an item. It does not reject. */
  #during(spec: Spec, work: () => Promise<void>): Promise<void> {
    const entry = { spec, over: work() };
    this.#underWay.add(entry);
    return entry.over.finally(() => this.#underWay.delete(entry));
  }

  #fill(): void {
    this.#filling ??= this.#work().finally(() => {
      this.#filling = undefined;
      if (this.#hasWork()) this.#fill();
    });
  }

  async #work(): Promise<void> {
    // A tick later, so that a burst of them is seen whole, and nobody who takes one waits.
    await new Promise(setImmediate);
    this.#plan();
    for (let step = this.#nextStep(); step !== undefined; step = this.#nextStep()) await step();
  }

  #surplus(key: string): boolean {
    return (this.#items.get(key)?.length ?? 0) > (this.#kinds.get(key)?.size ?? 0);
  }

  #isBelow(key: string, kind: Kind<Spec>): boolean {
    return !kind.failed && (this.#items.get(key)?.length ?? 0) < kind.size;
  }

  #hasWork(): boolean {
    for (const key of this.#items.keys()) if (this.#surplus(key)) return true;
    for (const [key, kind] of this.#kinds) if (this.#isBelow(key, kind)) return true;
    return false;
  }

  #nextStep(): (() => Promise<void>) | undefined {
    for (const [key, items] of this.#items) {
      const surplus = this.#surplus(key) ? items.pop() : undefined;
      if (items.length === 0) this.#items.delete(key);
      if (surplus !== undefined) return () => this.#discard(surplus);
    }
    for (const [key, kind] of this.#kinds) if (this.#isBelow(key, kind)) return () => this.#makeOne(key);
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
    const from = performance.now();
    await this.#pause();
    while (this.#paused > 0 && !this.#closing.signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
      });
    }
    const kind = this.#kinds.get(key);
    if (kind !== undefined) await this.#during(kind.spec, () => this.#makeNow(key, kind, from));
  }

  async #makeNow(key: string, kind: Kind<Spec>, from: number): Promise<void> {
    const { spec } = kind;
    try {
      const item = await this.#options.make(spec, this.#closing.signal);
      if (!this.#kinds.has(key)) {
        // Dropped meanwhile.
        await this.#options.discard(item);
        return;
      }
      const made = { item, spec, bytes: this.#options.growth?.bytesOf(item) ?? 0 };
      const items = this.#items.get(key);
      if (items === undefined) this.#items.set(key, [made]);
      else items.push(made);
      const cost = { bytes: Math.max(2 ** 20, made.bytes), makeMs: performance.now() - from };
      this.#cost = this.#cost === undefined ? cost : lately(this.#cost, cost);
    } catch (error) {
      kind.failed = true;
      if (!this.#closing.signal.aborted) this.#options.onFailure(error);
    }
  }
}
