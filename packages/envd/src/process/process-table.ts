import { Code, ConnectError } from '@connectrpc/connect';
import type { ProcessSelector } from '@svc/daemon/gen';
import type { OutputBudget } from './output-budget.js';
import type { RunningProcess } from './running-process.js';

/** How long the end of a process, and its output, can still be asked for, ms. */
export const RETAINED_END_MS = 30_000;

/** The processes that run, and those that ended just now. */
export class ProcessTable {
  readonly #running = new Map<number, RunningProcess>();
  readonly #ended = new Map<number, { process: RunningProcess; timer: NodeJS.Timeout }>();
  readonly #budget: OutputBudget;

  constructor(budget: OutputBudget) {
    this.#budget = budget;
  }

  add(process: RunningProcess): void {
    this.#forget(process.pid);
    this.#running.set(process.pid, process);
  }

  /** Moves a process to the ended ones, where it stays for 30 s. */
  retire(process: RunningProcess): void {
    const { pid } = process;
    if (this.#running.get(pid) !== process) return;
    this.#running.delete(pid);
    const timer = setTimeout(() => this.#forget(pid), RETAINED_END_MS);
    timer.unref();
    this.#ended.set(pid, { process, timer });
  }

  /** Oldest first. */
  running(): Iterable<RunningProcess> {
    return this.#running.values();
  }

  /**
   * The running process that the selector means; with a tag the newest one.
   *
   * @throws ConnectError `not_found`; `unimplemented` for an empty selector.
   */
  get(selector: ProcessSelector | undefined): RunningProcess {
    return select(selector, [...this.#running.values()]);
  }

  /** As `get`, but also finds a process that ended less than 30 s ago. */
  getRetained(selector: ProcessSelector | undefined): RunningProcess {
    const ended = [...this.#ended.values()].map((entry) => entry.process);
    return select(selector, [...ended, ...this.#running.values()]);
  }

  // Also for a number that is in use again: it no longer means the old process.
  #forget(pid: number): void {
    const entry = this.#ended.get(pid);
    if (!entry) return;
    clearTimeout(entry.timer);
    this.#ended.delete(pid);
    this.#budget.forget(entry.process.output);
  }
}

function select(selector: ProcessSelector | undefined, processes: readonly RunningProcess[]): RunningProcess {
  const wanted = selector?.selector;
  switch (wanted?.case) {
    case 'pid': {
      const found = processes.find((process) => process.pid === wanted.value);
      if (found) return found;
      throw new ConnectError(`no process with pid ${wanted.value}`, Code.NotFound);
    }
    case 'tag': {
      const found = processes.findLast((process) => process.description.tag === wanted.value);
      if (found) return found;
      throw new ConnectError(`no process with tag ${JSON.stringify(wanted.value)}`, Code.NotFound);
    }
    default:
      throw new ConnectError('the process selector is empty', Code.Unimplemented);
  }
}
