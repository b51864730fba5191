import { setTimeout as sleep } from 'node:timers/promises';
import type { EgressAuthority, EgressControl, EgressHandlers, EgressSandbox } from '@svc/egress';
import type { Instance } from '@svc/runtime/contract';
import type { EgressRun, SandboxEgress } from '../sandbox-egress.js';

/** Longest time of one call to the egress process, ms. A call about a sandbox that takes longer is given up, and made again later. */
const CALL_MS = 5_000;
/** The first and the longest delay between two tries to reach it, ms. */
const RETRY_MS = 50;
const LONGEST_RETRY_MS = 2_000;

export interface EgressLinkOptions {
  /** Opens a connection to the egress process. */
  connect(handlers: EgressHandlers, signal: AbortSignal): Promise<EgressControl>;
  /** Returns the authority when the process needs it; PEM. */
  authority(): Promise<EgressAuthority>;
  /** PEM of authorities that are trusted upstream beside the well-known ones. */
  extraRoots: string;
  handlers: EgressHandlers;
  /** Longest time of one call. Default 5000 ms. */
  callMs?: number;
  /** @param sandboxId of the one that the problem is about; it sends nothing meanwhile. Undefined: none is taken over */
  onProblem(error: unknown, sandboxId?: string): void;
}

interface Entry {
  instance: Instance;
  run: EgressRun;
  /** Calls about one sandbox run one after another. */
  sent: Promise<void>;
}

/** The egress process did not accept a policy. */
export class EgressUnreachableError extends Error {
  override readonly name = 'EgressUnreachableError';
}

/**
 * Keeps the egress process of the driver in step: it gets what each living sandbox may send, and all of it again whenever the
 * connection to it is a new one, because it keeps nothing. Sandboxes go one by one, each with a deadline of its own: a policy
 * that the process refuses, or takes long for, costs that sandbox alone.
 */
export class EgressLink implements SandboxEgress {
  readonly #options: EgressLinkOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  /** Sandboxes that this connection has not heard of yet. */
  readonly #due = new Set<string>();
  readonly #refused = new Map<string, string>();
  #control: Promise<EgressControl>;
  #setControl!: (control: EgressControl) => void;
  #reachable = false;
  #connected = false;

  constructor(options: EgressLinkOptions) {
    this.#options = options;
    this.#control = this.#nextControl();
    this.#running = this.#keepConnected();
  }

  get connected(): boolean {
    return this.#connected;
  }

  get refused(): ReadonlyMap<string, string> {
    return this.#refused;
  }

  runOf(sandboxId: string, execution: string | undefined): EgressRun | undefined {
    const run = this.#entries.get(sandboxId)?.run;
    return run !== undefined && run.execution === execution ? run : undefined;
  }

  set(instance: Instance, run: EgressRun): Promise<void> {
    const { id } = instance;
    const before = this.#entries.get(id);
    const entry: Entry = { instance, run, sent: before?.sent ?? Promise.resolve() };
    this.#entries.set(id, entry);
    if (before?.instance !== instance)
      void instance.ended.then(() => {
        // The id may belong to another instance by now, as after a resume.
        if (this.#entries.get(id)?.instance === instance) this.#remove(id);
      });
    return this.#send(entry);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  /** @throws {Error} what the process refused it with; {@link EgressUnreachableError}, and it is tried again, when there was no answer */
  #send(entry: Entry): Promise<void> {
    const sandbox = sandboxOf(entry);
    if (sandbox === undefined) return Promise.resolve();
    const { id } = sandbox;
    const isCurrent = () => this.#entries.get(id) === entry;
    const sent = entry.sent.then(async () => {
      try {
        await this.#call(async (control, signal) => {
          // It may have ended while this waited: nobody would take it back.
          if (this.#entries.has(id)) await control.setSandbox(sandbox, signal);
        });
        if (isCurrent()) this.#settle(id);
      } catch (error) {
        if (isCurrent() && error instanceof EgressUnreachableError) this.#due.add(id);
        else if (isCurrent()) this.#settle(id, error);
        throw error;
      }
    });
    entry.sent = sent.catch(() => {});
    return sent;
  }

  /** Notes that the process has heard of a sandbox. @param refusal why it did not take it over */
  #settle(id: string, refusal?: unknown): void {
    this.#due.delete(id);
    if (refusal === undefined) this.#refused.delete(id);
    else this.#refused.set(id, refusal instanceof Error ? refusal.message : String(refusal));
  }

  #remove(id: string): void {
    const entry = this.#entries.get(id);
    this.#entries.delete(id);
    this.#settle(id);
    // The next connection begins without the sandbox.
    if (!this.#reachable || entry === undefined) return;
    void entry.sent.then(async () => {
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

  /** @throws {EgressUnreachableError} when there is no answer in time */
  async #call(work: (control: EgressControl, signal: AbortSignal) => Promise<void>): Promise<void> {
    const over = new AbortController();
    const limit = sleep(this.#options.callMs ?? CALL_MS, 'late' as const, {
      signal: over.signal,
      ref: false,
    }).catch(() => 'late' as const);
    try {
      const control = await Promise.race([this.#control, limit]);
      if (control === 'late') throw new EgressUnreachableError('the egress process does not answer');
      const done = work(control, over.signal);
      done.catch(() => {});
      if ((await Promise.race([done, limit])) === 'late')
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
        for (const id of this.#entries.keys()) this.#due.add(id);
        this.#reachable = true;
        this.#setControl(control);
        const stop = () => control.close();
        signal.addEventListener('abort', stop, { once: true });
        if (signal.aborted) stop();
        await this.#tellAll(control);
        signal.removeEventListener('abort', stop);
        this.#reachable = false;
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

  /** Sends the policies that are due, one sandbox after another, the small ones first: none waits for the long lists of others. */
  async #tellAll(control: EgressControl): Promise<void> {
    let open = true;
    const closed = control.closed.then(() => {
      open = false;
    });
    while (open) {
      const weight = (id: string) => lengthOf(this.#entries.get(id)?.run);
      for (const id of [...this.#due].sort((one, other) => weight(one) - weight(other))) {
        const entry = this.#entries.get(id);
        if (entry === undefined || sandboxOf(entry) === undefined) this.#due.delete(id);
        // A call for it may have sent it since.
        else if (open && this.#due.has(id))
          await Promise.race([closed, this.#send(entry)]).catch((error: unknown) => {
            if (open && this.#entries.get(id) === entry) this.#options.onProblem(error, id);
          });
      }
      this.#connected = open;
      await Promise.race([closed, sleep(LONGEST_RETRY_MS, undefined, { ref: false })]);
    }
  }

  /** A connection that knows the authority, and no sandbox that has ended. */
  async #connect(signal: AbortSignal): Promise<EgressControl> {
    const { connect, handlers, authority, extraRoots, callMs = CALL_MS } = this.#options;
    const control = await connect(handlers, signal);
    const limit = setTimeout(() => control.close(), callMs);
    try {
      await control.setAuthority(await authority(), extraRoots);
      await control.keepSandboxes([...this.#entries.keys()]);
      return control;
    } catch (error) {
      control.close();
      throw error;
    } finally {
      clearTimeout(limit);
    }
  }
}

function lengthOf(run: EgressRun | undefined): number {
  const { allowOut = [], denyOut = [] } = run?.scope?.policy ?? {};
  return allowOut.length + denyOut.length;
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
