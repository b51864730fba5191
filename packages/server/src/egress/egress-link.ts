import { setTimeout as sleep } from 'node:timers/promises';
import type { EgressAuthority, EgressControl, EgressHandlers, EgressSandbox } from '@svc/egress';
import type { Instance } from '@svc/runtime';
import type { EgressRun, SandboxEgress } from '../context/sandbox-egress.js';

/** How long one call to the egress process may take, ms. One that takes longer is cut off, and all is told again. */
const CALL_MS = 5_000;
/** Between two tries to reach it, ms: the first and the longest. */
const RETRY_MS = 50;
const LONGEST_RETRY_MS = 2_000;

export interface EgressLinkOptions {
  /** Opens a connection to the egress process. */
  connect(handlers: EgressHandlers, signal: AbortSignal): Promise<EgressControl>;
  /** Is asked for when the process has to be told; PEM. */
  authority(): Promise<EgressAuthority>;
  /** PEM of authorities that are trusted upstream beside the well-known ones. */
  extraRoots: string;
  handlers: EgressHandlers;
  onProblem(error: unknown): void;
}

interface Entry {
  instance: Instance;
  run: EgressRun;
  /** Calls about one sandbox run one after another. */
  told: Promise<void>;
}

/** The egress process did not take over what it was told. */
export class EgressUnreachableError extends Error {
  override readonly name = 'EgressUnreachableError';
}

/**
 * Keeps the egress process of the driver in step: it is told what each living sandbox may send, and told everything again
 * whenever the connection to it is a new one, because it keeps nothing.
 */
export class EgressLink implements SandboxEgress {
  readonly #options: EgressLinkOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #control: Promise<EgressControl>;
  #setControl!: (control: EgressControl) => void;
  #connected = false;

  constructor(options: EgressLinkOptions) {
    this.#options = options;
    this.#control = this.#nextControl();
    this.#running = this.#keepConnected();
  }

  /** Whether the egress process knows everything it has to know. */
  get connected(): boolean {
    return this.#connected;
  }

  runOf(sandboxId: string, execution: string | undefined): EgressRun | undefined {
    const run = this.#entries.get(sandboxId)?.run;
    return run !== undefined && run.execution === execution ? run : undefined;
  }

  set(instance: Instance, run: EgressRun): Promise<void> {
    const { id } = instance;
    const before = this.#entries.get(id);
    const entry: Entry = { instance, run, told: before?.told ?? Promise.resolve() };
    this.#entries.set(id, entry);
    if (before?.instance !== instance)
      void instance.ended.then(() => {
        // The id may belong to another instance by now, as after a resume.
        if (this.#entries.get(id)?.instance === instance) this.#remove(id);
      });
    const sandbox = sandboxOf(entry);
    if (sandbox === undefined) return Promise.resolve();
    const told = entry.told.then(() => this.#call((control) => control.setSandbox(sandbox)));
    entry.told = told.catch(() => {});
    return told;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  #remove(id: string): void {
    const entry = this.#entries.get(id);
    this.#entries.delete(id);
    if (!this.#connected || entry === undefined) return;
    // When it fails, the next connection begins without the sandbox anyway.
    void entry.told.then(async () => {
      if (this.#entries.has(id)) return;
      await this.#call((control) => control.removeSandbox(id)).catch(() => {});
    });
  }

  #nextControl(): Promise<EgressControl> {
    const next = new Promise<EgressControl>((resolve) => {
      this.#setControl = resolve;
    });
    return next;
  }

  async #call(work: (control: EgressControl) => Promise<void>): Promise<void> {
    const over = new AbortController();
    const limit = sleep(CALL_MS, 'late' as const, { signal: over.signal, ref: false }).catch(
      () => 'late' as const,
    );
    try {
      const control = await Promise.race([this.#control, limit]);
      if (control === 'late') throw new EgressUnreachableError('the egress process does not answer');
      const done = work(control);
      done.catch(() => {});
      if ((await Promise.race([done, limit])) !== 'late') return;
      control.close();
      throw new EgressUnreachableError('the egress process does not answer');
    } finally {
      over.abort();
    }
  }

  async #keepConnected(): Promise<void> {
    const { signal } = this.#closing;
    let waitMs = RETRY_MS;
    while (!signal.aborted) {
      try {
        const control = await this.#connect(signal);
        waitMs = RETRY_MS;
        this.#connected = true;
        this.#setControl(control);
        const stop = () => control.close();
        signal.addEventListener('abort', stop, { once: true });
        if (signal.aborted) stop();
        await control.closed;
        signal.removeEventListener('abort', stop);
        this.#connected = false;
        this.#control = this.#nextControl();
        if (!signal.aborted)
          this.#options.onProblem(new EgressUnreachableError('the egress process ended the connection'));
      } catch (error) {
        if (!signal.aborted) this.#options.onProblem(error);
      }
      await sleep(waitMs, undefined, { signal, ref: false }).catch(() => {});
      waitMs = Math.min(waitMs * 2, LONGEST_RETRY_MS);
    }
  }

  /** A connection over which everything was told. */
  async #connect(signal: AbortSignal): Promise<EgressControl> {
    const { connect, handlers, authority, extraRoots } = this.#options;
    const control = await connect(handlers, signal);
    const limit = setTimeout(() => control.close(), CALL_MS);
    try {
      await control.setAuthority(await authority(), extraRoots);
      const all = [...this.#entries.values()].map(sandboxOf).filter((each) => each !== undefined);
      await control.setSandboxes(all);
      return control;
    } catch (error) {
      control.close();
      throw error;
    } finally {
      clearTimeout(limit);
    }
  }
}

function sandboxOf({ instance, run }: Entry): EgressSandbox | undefined {
  if (instance.address === undefined) return undefined;
  return {
    id: instance.id,
    address: instance.address,
    ...(run.execution === undefined ? {} : { execution: run.execution }),
    ...(run.scope === undefined ? {} : { policy: run.scope.policy }),
  };
}
