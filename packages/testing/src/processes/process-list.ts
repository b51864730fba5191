import { Code, ConnectError } from '@connectrpc/connect';
import type { ProcessSelector } from '@svc/daemon';
import type { TestClock } from '../clock/test-clock.js';
import type { CommandCall } from '../commands/call.js';
import type { ScriptList } from '../commands/script.js';
import { TestProcess } from './test-process.js';

/** A command that was started in a sandbox. */
export interface SeenCommand extends Omit<CommandCall, 'sandbox'> {
  readonly pid: number;
  /** Its input so far, as text. */
  readonly stdin: string;
  /** Undefined while it runs. -1: a signal ended it. */
  readonly exitCode: number | undefined;
}

/** Time that a process that ended is still found, ms. */
const retainedMs = 30_000;

/** The processes of one sandbox. */
export class ProcessList {
  readonly #clock: TestClock;
  readonly #whenRunning: () => Promise<void>;
  readonly #all: TestProcess[] = [];
  readonly #running = new Map<number, TestProcess>();
  readonly #ended = new Map<number, TestProcess>();
  #nextPid = 100;

  constructor(clock: TestClock, whenRunning: () => Promise<void>) {
    this.#clock = clock;
    this.#whenRunning = whenRunning;
  }

  get seen(): readonly SeenCommand[] {
    return this.#all.map(({ pid, call, inputText, end }) => {
      const { sandbox: _, ...rest } = call;
      return { ...rest, pid, stdin: inputText, exitCode: end?.exitCode };
    });
  }

  get running(): Iterable<TestProcess> {
    return this.#running.values();
  }

  start(call: CommandCall, scripts: ScriptList): TestProcess {
    const found = scripts.find(call);
    const process: TestProcess = new TestProcess({
      pid: this.#nextPid++,
      call,
      clock: this.#clock,
      whenRunning: this.#whenRunning,
      onEnd: () => this.#retire(process),
    });
    this.#all.push(process);
    this.#running.set(process.pid, process);
    // Not before its reader is there: what it prints at once belongs to that reader too.
    queueMicrotask(() => void process.run(found, found ? '' : scripts.explainMissing(call)));
    return process;
  }

  /** @throws ConnectError `not_found`; `unimplemented` for an empty selector */
  get(selector: ProcessSelector | undefined): TestProcess {
    return select(selector, [...this.#running.values()]);
  }

  /** As `get`, but also finds what ended less than 30 s ago. */
  getRetained(selector: ProcessSelector | undefined): TestProcess {
    return select(selector, [...this.#ended.values(), ...this.#running.values()]);
  }

  dropAll(): void {
    for (const process of this.#running.values()) process.drop();
    this.#running.clear();
    this.#ended.clear();
  }

  #retire(process: TestProcess): void {
    if (!this.#running.delete(process.pid)) return;
    this.#ended.set(process.pid, process);
    this.#clock.after(retainedMs, () => this.#ended.delete(process.pid), { isEnd: true });
  }
}

function select(selector: ProcessSelector | undefined, processes: readonly TestProcess[]): TestProcess {
  const wanted = selector?.selector;
  switch (wanted?.case) {
    case 'pid': {
      const found = processes.find(({ pid }) => pid === wanted.value);
      if (found) return found;
      throw new ConnectError(`no process with pid ${wanted.value}`, Code.NotFound);
    }
    case 'tag': {
      const found = processes.findLast(({ call }) => call.tag === wanted.value);
      if (found) return found;
      throw new ConnectError(`no process with tag ${JSON.stringify(wanted.value)}`, Code.NotFound);
    }
    default:
      throw new ConnectError('the process selector is empty', Code.Unimplemented);
  }
}
