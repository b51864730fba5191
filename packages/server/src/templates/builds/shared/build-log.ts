import type { components } from '@svc/platform';
import { levelRank } from '../../../sandboxes/telemetry/store-logs.js';
import type { Uses } from '../../context.js';

type Level = components['schemas']['LogLevel'];

const FLUSH_AFTER_MS = 250;
const FLUSH_AFTER_ENTRIES = 200;
const MAX_ENTRIES = 20_000;
const MAX_MESSAGE = 8_192;

interface Pending {
  seq: number;
  at: number;
  level: number;
  message: string;
  step: string;
}

/** Writes the log of one build while it runs, in batches. */
export class BuildLog {
  readonly #context: Uses<'db' | 'log' | 'now'>;
  readonly #buildId: string;
  #step = 'base';
  #seq = 0;
  #pending: Pending[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writes: Promise<void> = Promise.resolve();

  constructor(context: Uses<'db' | 'log' | 'now'>, buildId: string) {
    this.#context = context;
    this.#buildId = buildId;
  }

  /** `base`, the number of an instruction from 1, or `finalize`: what the following entries belong to. */
  set step(step: string) {
    this.#step = step;
  }

  get step(): string {
    return this.#step;
  }

  /** Adds an entry. What goes beyond 20 000 entries is left out, after a note that says so. */
  add(level: Level, message: string): void {
    if (this.#seq >= MAX_ENTRIES && level !== 'error') {
      if (this.#seq > MAX_ENTRIES) return;
      message = 'the log is full: the rest of the output is left out';
    }
    this.#pending.push({
      seq: this.#seq++,
      at: this.#context.now(),
      level: levelRank(level),
      // PostgreSQL has no NUL in text.
      message: message.slice(0, MAX_MESSAGE).replaceAll('\0', '\uFFFD'),
      step: this.#step,
    });
    if (this.#pending.length >= FLUSH_AFTER_ENTRIES) void this.flush();
    else
      this.#timer ??= setTimeout(() => {
        void this.flush();
      }, FLUSH_AFTER_MS);
  }

  /** Settles when everything so far is stored. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const rows = this.#pending;
    this.#pending = [];
    if (rows.length > 0)
      this.#writes = this.#writes
        .then(() => this.#write(rows))
        .catch((error: unknown) => {
          this.#context.log.error(
            { err: error, buildId: this.#buildId },
            'the log of a build could not be written',
          );
        });
    return this.#writes;
  }

  async #write(rows: Pending[]): Promise<void> {
    await this.#context.db
      .insertInto('build_logs')
      .values(rows.map((row) => ({ build_id: this.#buildId, ...row })))
      .execute();
  }
}
