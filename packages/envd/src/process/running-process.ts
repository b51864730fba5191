import type { ProcessConfig } from '@svc/daemon/gen';
import type { ExitStatus } from './exit-status.js';
import type { ProcessEvent } from './process-event.js';
import type { OutputKind, Program, ProgramEvents } from './program.js';
import { Subscription } from './subscription.js';

export interface ProcessDescription {
  /** As the request gave it. */
  config: ProcessConfig;
  tag: string | undefined;
  terminal: boolean;
}

/** A process that the daemon started, with its readers. It lives on when they leave. */
export class RunningProcess {
  readonly description: ProcessDescription;
  readonly #subscriptions = new Set<Subscription>();
  readonly #onOutput: (kind: OutputKind, bytes: Uint8Array) => void;
  readonly #onEnd: (status: ExitStatus) => void;
  #program: Program | undefined;
  #paused = false;
  #end: ExitStatus | undefined;
  readonly #whenEnded: (() => void)[] = [];

  constructor(
    description: ProcessDescription,
    listeners: { output(kind: OutputKind, bytes: Uint8Array): void; end(status: ExitStatus): void },
  ) {
    this.description = description;
    this.#onOutput = listeners.output;
    this.#onEnd = listeners.end;
  }

  /** Hands over the program that `events` belongs to. */
  adopt(program: Program): void {
    this.#program = program;
  }

  get program(): Program {
    if (!this.#program) throw new Error('the process has no program yet');
    return this.#program;
  }

  get pid(): number {
    return this.program.pid;
  }

  /** Undefined while it runs. */
  get end(): ExitStatus | undefined {
    return this.#end;
  }

  /** Calls the listener once it has ended, at once when it has already. */
  whenEnded(listener: () => void): void {
    if (this.#end) listener();
    else this.#whenEnded.push(listener);
  }

  readonly events: ProgramEvents = {
    output: (kind, bytes) => {
      this.#onOutput(kind, bytes);
      this.#publish({ kind: 'data', output: kind, bytes });
    },
    end: (status) => {
      this.#end = status;
      this.#publish({ kind: 'end', status });
      this.#onEnd(status);
      // An ended process is kept for a while: it must not hold on to the call that started it.
      for (const listener of this.#whenEnded.splice(0)) listener();
    },
  };

  /** Joins the readers. Every reader gets its own copy of what comes from now on. */
  subscribe(): Subscription {
    const subscription = new Subscription(() => {
      if (subscription.closed) this.#subscriptions.delete(subscription);
      this.#adjustFlow();
    });
    if (this.#end) subscription.push({ kind: 'end', status: this.#end });
    else this.#subscriptions.add(subscription);
    return subscription;
  }

  #publish(event: ProcessEvent): void {
    for (const subscription of this.#subscriptions) subscription.push(event);
    this.#adjustFlow();
  }

  // The slowest reader sets the pace; without readers output is read and dropped.
  #adjustFlow(): void {
    let full = false;
    for (const subscription of this.#subscriptions) full ||= subscription.full;
    if (full === this.#paused || !this.#program) return;
    this.#paused = full;
    if (full) this.#program.pause();
    else this.#program.resume();
  }
}
