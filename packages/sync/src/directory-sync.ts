import { setTimeout as delay } from 'node:timers/promises';
import {
  CapacityError,
  ConflictError,
  ConnectionError,
  OutputLostError,
  RateLimitError,
  SandboxGoneError,
  ServerError,
  TimeoutError,
} from '@svc/sdk';
import type { RoundContext } from './context.js';
import { SyncStoppedError } from './errors.js';
import type { EventQueue } from './event-queue.js';
import type { SyncEvent } from './events.js';
import { LocalWatch } from './local/watch-local.js';
import { RemoteWatch } from './remote/watch-remote.js';
import { type RoundResult, runRound } from './round.js';
import { type StateSubject, writeState } from './state-file.js';

/** The activity of a synchronization. */
export type SyncStatus = 'syncing' | 'watching' | 'waiting' | 'stopped';

/** @internal What a synchronization is made of. */
interface SyncParts {
  context: Omit<RoundContext, 'signal' | 'emit'>;
  events: EventQueue;
  watch: boolean;
  /** Where the common state is kept, if anywhere. */
  state: { file: string; subject: StateSubject } | undefined;
  signal: AbortSignal | undefined;
}

/** Quiet time after a change before both sides are compared, ms: programs write several files at once. */
const quietMs = 50;
/** Time between comparisons of a side whose changes are not reported, ms. */
const pollMs = 3_000;
/** Time between questions for the state of a paused sandbox, ms. */
const pausedMs = 1_000;
const longestBackoffMs = 10_000;
/** Rounds after which a side that changes all the time is not waited for. */
const mostRounds = 8;

/** Brings both sides together, and settles when they are equal for the first time. */
export let startSync: (parts: SyncParts) => Promise<DirectorySync>;

/**
 * A synchronization of two directories that keeps going. `await using` stops it at the end of the block; what is there
 * then stays. Comes from `syncDirectory`.
 */
export class DirectorySync implements AsyncDisposable {
  readonly #parts: SyncParts;
  readonly #context: RoundContext;
  readonly #abort = new AbortController();
  readonly #local: LocalWatch;
  readonly #remote: RemoteWatch;
  #status: SyncStatus = 'syncing';
  /** Counts what asks for another comparison; a round has seen everything up to its start. */
  #asked = 1;
  #seen = 0;
  #wake: () => void = () => {};
  #pollLocal = false;
  #changes = 0;
  #flushes: { asked: number; resolve: () => void; reject: (error: unknown) => void }[] = [];
  #ended: Promise<void> = Promise.resolve();
  #failure: unknown;
  /** True once an event has reported that both sides are equal. */
  #told = false;

  static {
    startSync = async (parts) => {
      const sync = new DirectorySync(parts);
      await sync.#start();
      return sync;
    };
  }

  /** @internal */
  constructor(parts: SyncParts) {
    this.#parts = parts;
    const { signal } = this.#abort;
    this.#context = { ...parts.context, signal, emit: parts.events.emit };
    const { remote, exclusions, settings } = parts.context;
    const change = () => this.#ask();
    this.#local = new LocalWatch(settings.local, exclusions, {
      change,
      failure: (error) => {
        if (!this.#pollLocal) parts.events.emit({ type: 'polling', side: 'local', error });
        this.#pollLocal = true;
      },
    });
    this.#remote = new RemoteWatch(remote, exclusions, { change, signal });
    const outer = parts.signal;
    if (outer?.aborted) this.#abort.abort(outer.reason);
    else outer?.addEventListener('abort', () => this.#abort.abort(outer.reason), { once: true });
  }

  /** The current activity. */
  get status(): SyncStatus {
    return this.#status;
  }

  /** Events from now on: `for await (const event of sync.events)`. It ends with the synchronization. */
  get events(): AsyncIterable<SyncEvent> {
    return this.#parts.events.read();
  }

  /** Settles at the end: resolves after `stop` or the signal, rejects with what else stopped it. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /**
   * Waits until both sides are equal, everything that was changed before the call included.
   * @throws SyncStoppedError, SandboxGoneError or what else stopped it
   * @example
   * await sync.flush();
   */
  flush(): Promise<void> {
    if (this.#status === 'stopped')
      return Promise.reject(this.#failure ?? new Error('The synchronization was stopped.'));
    const flushed = new Promise<void>((resolve, reject) => {
      this.#flushes.push({ asked: this.#asked + 1, resolve, reject });
    });
    this.#ask();
    return flushed;
  }

  /**
   * Ends it, in the middle of a transfer too: files are whole or not there. Repeating it is fine.
   * @example
   * await sync.stop();
   */
  async stop(): Promise<void> {
    this.#abort.abort(new Error('The synchronization was stopped.'));
    await this.#ended.catch(() => {});
  }

  /** As `stop`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Brings both sides together for the first time, then follows them. */
  async #start(): Promise<void> {
    try {
      await this.#untilSettled();
    } catch (error) {
      this.#end(error);
      throw error;
    }
    if (!this.#parts.watch) return this.#end(undefined);
    this.#status = 'watching';
    this.#ended = this.#follow();
    // A failure reaches the caller by `ended`, `flush` or the events.
    this.#ended.catch(() => {});
  }

  async #untilSettled(): Promise<void> {
    for (let round = 1; ; round += 1) {
      const { unsettled } = await this.#round();
      if (unsettled.length === 0 || (round === mostRounds && this.#parts.watch)) return;
      if (round === mostRounds) throw neverSettled(unsettled);
      await sleep(round > 2 ? quietMs * round : 0, this.#abort.signal);
    }
  }

  async #follow(): Promise<void> {
    let backoffMs = 0;
    for (;;) {
      try {
        await this.#pause();
        await this.#round();
        if (this.#status === 'waiting') this.#parts.events.emit({ type: 'resumed' });
        this.#status = 'watching';
        backoffMs = 0;
      } catch (error) {
        if (this.#abort.signal.aborted) return this.#end(undefined);
        if (decideFailure(error) === 'stop') {
          this.#end(error);
          throw error;
        }
        backoffMs = Math.min(longestBackoffMs, Math.max(250, 2 * backoffMs));
        try {
          await this.#waitFor(error, backoffMs);
        } catch (failure) {
          if (this.#abort.signal.aborted) return this.#end(undefined);
          this.#end(failure);
          throw failure;
        }
      }
    }
  }

  /** Waits until there is something to compare. */
  async #pause(): Promise<void> {
    const { signal } = this.#abort;
    const intervalMs =
      this.#pollLocal || !this.#remote.active ? pollMs : this.#context.settings.rescanIntervalMs;
    if (this.#asked === this.#seen) {
      const asked = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      const timer = new AbortController();
      const woken = sleep(intervalMs, AbortSignal.any([signal, timer.signal])).catch(() => {});
      await Promise.race([asked, woken]);
      timer.abort();
      signal.throwIfAborted();
    }
    if (this.#flushes.length === 0) await sleep(quietMs, signal);
  }

  async #waitFor(error: unknown, delayMs: number): Promise<void> {
    const { signal } = this.#abort;
    const paused = SandboxGoneError.is(error) && error.reason === 'paused';
    if (this.#status !== 'waiting')
      this.#parts.events.emit({ type: 'waiting', reason: paused ? 'paused' : 'unreachable', error });
    this.#status = 'waiting';
    await sleep(delayMs, signal);
    // Asking for its state does not wake it.
    while (paused && (await this.#context.remote.sandbox.info({ signal })).state === 'paused')
      await sleep(pausedMs, signal);
    this.#ask();
  }

  async #round(): Promise<RoundResult> {
    const { events, state, watch } = this.#parts;
    const seen = this.#asked;
    if (this.#status !== 'waiting') this.#status = 'syncing';
    if (watch) {
      // Before the look: what comes between the two is in the look, and is reported besides.
      if (!this.#pollLocal) this.#local.update(directoriesOf(this.#context.memory.base));
      await this.#remote.open((error) => events.emit({ type: 'polling', side: 'remote', error }));
    }
    const result = await runRound(this.#context);
    this.#seen = seen;
    this.#changes += result.changes;
    if (state && (result.changes > 0 || !this.#told))
      await writeState(state.file, state.subject, this.#context.memory);
    if (watch && !this.#pollLocal && this.#local.update(directoriesOf(result.scans.local.tree))) this.#ask();
    if (result.unsettled.length > 0) this.#ask();
    else {
      if (this.#changes > 0 || !this.#told)
        events.emit({ type: 'synced', entries: this.#context.memory.base.size, changes: this.#changes });
      this.#told = true;
      this.#changes = 0;
      const done = this.#flushes.filter(({ asked }) => asked <= seen);
      this.#flushes = this.#flushes.filter(({ asked }) => asked > seen);
      for (const { resolve } of done) resolve();
    }
    return result;
  }

  #ask(): void {
    this.#asked += 1;
    this.#wake();
  }

  #end(error: unknown): void {
    if (this.#status === 'stopped') return;
    this.#status = 'stopped';
    this.#failure = error;
    this.#abort.abort(error ?? new Error('The synchronization was stopped.'));
    this.#local.close();
    this.#remote.close();
    this.#parts.events.emit({ type: 'stopped', error });
    this.#parts.events.end();
    for (const { reject } of this.#flushes) reject(error ?? new Error('The synchronization was stopped.'));
    this.#flushes = [];
  }
}

function neverSettled(paths: readonly string[]): SyncStoppedError {
  const named = paths.slice(0, 3).map((path) => JSON.stringify(path));
  const more = paths.length > named.length ? ` and ${paths.length - named.length} more` : '';
  return new SyncStoppedError(
    `sync: both sides did not become equal: ${named.join(', ')}${more} changed again and again. Leave out what is written all the time (\`ignore\`), or follow both sides instead of once.`,
    { reason: 'unsettled' },
  );
}

function* directoriesOf(tree: ReadonlyMap<string, { type: string }>): Iterable<string> {
  for (const [path, { type }] of tree) if (type === 'directory') yield path;
}

/** Waits, unless the signal fires first; then throws its reason. */
async function sleep(delayMs: number, signal: AbortSignal): Promise<void> {
  await delay(delayMs, undefined, { signal }).catch(() => signal.throwIfAborted());
}

/** Decides if a failed round is tried again: only for failures that may be over by themselves, of the way to the sandbox or by its pause. */
function decideFailure(error: unknown): 'retry' | 'stop' {
  if (SandboxGoneError.is(error)) return error.reason === 'paused' ? 'retry' : 'stop';
  const passes = [
    ConnectionError,
    TimeoutError,
    ServerError,
    RateLimitError,
    CapacityError,
    ConflictError,
    OutputLostError,
  ];
  return passes.some((kind) => kind.is(error)) ? 'retry' : 'stop';
}
