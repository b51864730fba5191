/** Between two trials of the fences that sandboxes rely on, ms: give or take a quarter, so that servers do not try at once. */
const WATCH_MS = 600_000;
/** The end of the watch waits this long at most for the trial that is under way, ms. */
const LAST_TRIAL_MS = 15_000;

export interface FenceWatchOptions {
  /** Members, with the sandboxes without network access that run there now. */
  relying(): ReadonlyMap<string, number>;
  /** Tries the fence of a member anew. @returns what is wrong with it; undefined: it holds */
  prove(location: string): Promise<string | undefined>;
  log(level: 'warn' | 'error', message: string, fields: Record<string, unknown>): void;
  /** Default `Math.random`. */
  random?(): number;
}

/** Notices that a fence disappeared on which running sandboxes rely: no new ones start there then. */
export class FenceWatch {
  readonly #options: FenceWatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #closed = false;

  constructor(options: FenceWatchOptions) {
    this.#options = options;
    this.#schedule();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    if (this.#round === undefined) return;
    let limit: NodeJS.Timeout | undefined;
    await Promise.race([
      this.#round,
      new Promise((resolve) => {
        limit = setTimeout(resolve, LAST_TRIAL_MS);
      }),
    ]);
    clearTimeout(limit);
  }

  #schedule(): void {
    if (this.#closed) return;
    const delayMs = WATCH_MS * (0.75 + (this.#options.random ?? Math.random)() / 2);
    this.#timer = setTimeout(() => {
      this.#round = this.#tryAll().finally(() => {
        this.#round = undefined;
        this.#schedule();
      });
    }, delayMs);
    this.#timer.unref();
  }

  /** One after another: each takes some memory of its member. */
  async #tryAll(): Promise<void> {
    const { relying, prove, log } = this.#options;
    for (const member of [...relying().keys()]) {
      if (this.#closed) return;
      try {
        const problem = await prove(member);
        const sandboxes = relying().get(member) ?? 0;
        if (problem !== undefined && sandboxes > 0)
          log('error', 'sandboxes without network access run behind a fence that does not hold', {
            ...{ member, sandboxes, problem },
          });
      } catch (error) {
        log('warn', 'the fence of a member could not be tried again', { member, error: String(error) });
      }
    }
  }
}
