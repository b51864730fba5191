import type { ProcessConfig } from '@svc/daemon/gen';
import type { ExitStatus } from './exit-status.js';
import { KeptOutput } from './kept-output.js';
import type { OutputBudget } from './output-budget.js';
import type { OutputKind, Program, ProgramEvents } from './program.js';
import { Subscription } from './subscription.js';

export interface ProcessDescription {
  /** As the request gave it. */
  config: ProcessConfig;
  tag: string | undefined;
  terminal: boolean;
  /** Milliseconds since 1970. */
  startedAt: number;
}

/** A process that the daemon started, with its readers. It lives on when they leave. */
export class RunningProcess {
  readonly description: ProcessDescription;
  /** The latest of what it printed, also after its end. */
  readonly output: KeptOutput;
  readonly #subscriptions = new Set<Subscription>();
  readonly #onOutput: (kind: OutputKind, bytes: Uint8Array) => void;
  readonly #onEnd: (status: ExitStatus) => void;
  #program: Program | undefined;
  #paused = false;
  #end: ExitStatus | undefined;
  readonly #whenEnded: (() => void)[] = [];

  constructor(
    description: ProcessDescription,
    budget: OutputBudget,
    listeners: { output(kind: OutputKind, bytes: Uint8Array): void; end(status: ExitStatus): void },
  ) {
    this.description = description;
    this.output = new KeptOutput(budget);
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
      this.output.append(kind, bytes);
      this.#notify();
    },
    end: (status) => {
      this.#end = status;
      this.#notify();
      this.#subscriptions.clear();
      this.#onEnd(status);
      // An ended process is kept for a while: it must not hold on to the call that started it.
      for (const listener of this.#whenEnded.splice(0)) listener();
    },
  };

  /** Joins the readers. Each reader gets all output from the offset on, as far as it is kept; absent: from now on. */
  subscribe(from?: number): Subscription {
    const subscription: Subscription = new Subscription(
      this.output.cursor(from),
      () => this.#end,
      () => {
        if (subscription.closed) this.#subscriptions.delete(subscription);
        this.#adjustFlow();
      },
    );
    if (!this.#end) this.#subscriptions.add(subscription);
    this.#adjustFlow();
    return subscription;
  }

  #notify(): void {
    for (const subscription of this.#subscriptions) subscription.notify();
    this.#adjustFlow();
  }

  // The slowest reader sets the pace; without readers output is read all the same, and the latest of it kept.
  #adjustFlow(): void {
    if (this.#end) return;
    let full = false;
    for (const subscription of this.#subscriptions) full ||= subscription.full;
    if (full === this.#paused || !this.#program) return;
    this.#paused = full;
    if (full) this.#program.pause();
    else this.#program.resume();
  }
}
