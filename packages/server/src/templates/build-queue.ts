type Work = (signal: AbortSignal) => Promise<void>;

interface Job {
  buildId: string;
  start(): void;
  abort: AbortController;
  started: boolean;
  done: Promise<void>;
}

/** Runs builds of this process, at most so many at once, the oldest first. A job must not throw. */
export class BuildQueue {
  readonly #limit: number;
  readonly #jobs = new Map<string, Job & { start(): void }>();
  #running = 0;
  /** Work that needs that no build runs. */
  #exclusive: Promise<unknown> | undefined;
  /** Such work that came while builds were there, by what it does. */
  readonly #postponed = new Map<string, () => Promise<void>>();
  #closed = false;

  /** @param limit >= 1 */
  constructor(limit: number) {
    this.#limit = Math.max(1, limit);
  }

  /** Adds a build. Its signal aborts when it is cancelled or the queue closes. */
  add(buildId: string, work: Work): void {
    const abort = new AbortController();
    let start = () => {};
    const done = new Promise<void>((resolve) => {
      start = () => {
        work(abort.signal).then(resolve, () => resolve());
      };
    });
    this.#jobs.set(buildId, { buildId, start, abort, started: false, done });
    if (this.#closed) abort.abort(new Error('the server stops'));
    this.#next();
  }

  /** Ends a build of this process; one that it does not know is no error. Settles when it has ended. */
  async cancel(buildId: string, reason: Error): Promise<void> {
    const job = this.#jobs.get(buildId);
    if (job === undefined) return;
    job.abort.abort(reason);
    this.#next();
    await job.done;
  }

  /** Builds that run or wait here. */
  get ids(): string[] {
    return [...this.#jobs.keys()];
  }

  /** The number of builds that run or wait here. */
  get size(): number {
    return this.#jobs.size;
  }

  /**
   * Does something while no build runs; builds that come meanwhile wait. While one is there it is postponed until none is, and then
   * done once, however often it was asked for.
   * @param name what it does
   * @returns whether it is done
   */
  async whenIdle(name: string, task: () => Promise<void>): Promise<boolean> {
    if (this.#closed) return false;
    if (this.#jobs.size > 0 || this.#exclusive !== undefined) {
      this.#postponed.set(name, task);
      return false;
    }
    await this.#doAlone(task);
    return true;
  }

  /** Cancels everything and waits for its end. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#postponed.clear();
    for (const job of this.#jobs.values()) job.abort.abort(new Error('the server stops'));
    await this.#exclusive?.catch(() => {});
    this.#next();
    while (this.#jobs.size > 0) await Promise.all([...this.#jobs.values()].map((job) => job.done));
  }

  async #doAlone(task: () => Promise<void>): Promise<void> {
    this.#exclusive = task();
    try {
      await this.#exclusive;
    } finally {
      this.#exclusive = undefined;
      this.#next();
    }
  }

  #next(): void {
    if (this.#exclusive !== undefined) return;
    const [postponed] = this.#jobs.size === 0 ? this.#postponed : [];
    if (postponed !== undefined) {
      const [name, task] = postponed;
      this.#postponed.delete(name);
      // No caller waits for it: it reports its failures itself.
      void this.#doAlone(task).catch(() => {});
      return;
    }
    for (const job of this.#jobs.values()) {
      // A cancelled job runs at once: it has only to say that it ended.
      if (job.started || (this.#running >= this.#limit && !job.abort.signal.aborted)) continue;
      job.started = true;
      this.#running += 1;
      void job.done.then(() => {
        this.#running -= 1;
        this.#jobs.delete(job.buildId);
        this.#next();
      });
      job.start();
    }
  }
}
