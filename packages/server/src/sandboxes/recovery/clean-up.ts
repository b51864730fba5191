import { repeat } from '../../api/context/repeat.js';
import type { Uses } from '../context.js';

type Step = [what: string, task: () => Promise<void>];

/** Longest that a stop waits for a running round, ms: the next start finds again what was not removed. */
const STOP_WAIT_MS = 2_000;

/**
 * Removes what nobody needs any more, at the start and then every `cleanUpIntervalMs`. Nothing waits for it. A step that fails
 * is logged and tried again in the next round; the other steps run all the same.
 */
export class CleanUp {
  readonly #context: Uses<'config' | 'log'>;
  readonly #steps: readonly Step[];
  readonly #stopRepeating: () => Promise<void>;
  #first: Promise<void>;

  constructor(context: Uses<'config' | 'log'>, steps: readonly Step[]) {
    this.#context = context;
    this.#steps = steps;
    this.#first = this.round();
    this.#stopRepeating = repeat(
      context.config.cleanUpIntervalMs,
      () => this.round(),
      () => {},
    );
  }

  /** Runs every step once. Never rejects. */
  async round(): Promise<void> {
    for (const [what, task] of this.#steps) {
      try {
        await task();
      } catch (error) {
        this.#context.log.warn({ err: error, what }, 'clean-up failed and will be tried again');
      }
    }
  }

  /** Starts no further round. */
  async stop(): Promise<void> {
    const ended = Promise.all([this.#first, this.#stopRepeating()]);
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise((resolve) => {
      timer = setTimeout(resolve, STOP_WAIT_MS);
    });
    await Promise.race([ended, patience]);
    clearTimeout(timer);
  }
}
