import type { Schema } from './schema.js';
import type { WriteWatch } from './write-watch.js';

/** Time after a write during which a read may still see the state before its commit, ms. */
const UNSETTLED_MS = 2_000;
const MOST = 5_000;

export interface ReadCacheOptions {
  writes: WriteWatch;
  /** Writes of this process to these tables make everything forgotten at once. */
  tables: readonly (keyof Schema)[];
  /** Lifetime of a value, ms: a change by another process is seen after that time. */
  ttlMs: number;
  /** Monotonic clock, ms. Default `performance.now`. */
  now?: () => number;
}

/** Remembers what reads gave. A process always sees its own writes; failures are not remembered. */
export class ReadCache<T> {
  readonly #entries = new Map<string, { value: T; readAtMs: number }>();
  readonly #ttlMs: number;
  readonly #now: () => number;
  #writtenAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReadCacheOptions) {
    this.#ttlMs = options.ttlMs;
    this.#now = options.now ?? (() => performance.now());
    for (const table of options.tables) options.writes.onWrite(table, () => this.forget());
  }

  /** The value for `key`: the remembered one, else that of `read`. */
  async get(key: string, read: () => Promise<T>): Promise<T> {
    const startedAt = this.#now();
    const known = this.#entries.get(key);
    if (known !== undefined && startedAt - known.readAtMs < this.#ttlMs) return known.value;
    const value = await read();
    // A write during the read, or a transaction that may not be through: the value may be of the past.
    if (startedAt - this.#writtenAtMs < UNSETTLED_MS || this.#writtenAtMs > startedAt) return value;
    if (this.#entries.size >= MOST) this.#entries.clear();
    this.#entries.set(key, { value, readAtMs: startedAt });
    return value;
  }

  forget(): void {
    this.#writtenAtMs = this.#now();
    this.#entries.clear();
  }
}
