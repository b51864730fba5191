import type { Instance } from '@svc/runtime/contract';
import type { Selectable } from 'kysely';
import type { SandboxesTable } from '../../storage/schema.js';
import type { LogsLook } from './logs-look.js';

export type SandboxRow = Selectable<SandboxesTable>;

/** A change that is under way for one sandbox. */
export interface Transition {
  kind: 'creating' | 'pausing' | 'snapshotting' | 'killing' | 'resuming';
  /** Its end, with the error when it failed. */
  result: Promise<unknown>;
  /** It only moves: other changes wait for the end of the move, and look again. */
  moving?: true;
}

/** One sandbox as this process knows it: the last row read or written, and its instance. */
export interface LiveSandbox {
  row: SandboxRow;
  instance: Instance | undefined;
  transition: Transition | undefined;
  /** Counts resumes: names one run for kept-alive connections. */
  run: number;
  /** True once the sandbox is killed: remaining references are worthless. */
  deleted: boolean;
  /** The last collection of logs: they run one after another. */
  logs: Promise<number> | undefined;
  /** Up to where they were taken over, in the daemon's count, where this process knows it: else it is read from the database. */
  logCursor: number | undefined;
  /** When its logs are taken over next without being asked for. */
  logsLook: LogsLook | undefined;
  /** Writes of the row run one after another. */
  writes: Promise<unknown>;
  /** Nobody knows how the last write of the row ended: it is read again before the next. */
  stale: boolean;
  /** When an end that failed is tried again, ms since the epoch. */
  retryAt: number;
}

export function newLive(row: SandboxRow, instance?: Instance): LiveSandbox {
  return {
    row,
    instance,
    transition: undefined,
    run: 0,
    deleted: false,
    logs: undefined,
    logCursor: undefined,
    logsLook: undefined,
    writes: Promise.resolve(),
    stale: false,
    retryAt: 0,
  };
}

/** Returns whether a row says that a change is under way. Without a transition, that broke off and has to be repaired. */
export function isBetweenStates(state: SandboxRow['state']): boolean {
  return state !== 'running' && state !== 'paused';
}

/** The state that counts: what is under way, else what the row says. */
export function stateOf(live: LiveSandbox): SandboxRow['state'] {
  return live.transition?.kind ?? live.row.state;
}

/** Sandboxes of this node by id: running, paused in RAM, or in transition. Rows of others are read when asked for. */
export class LiveSandboxes {
  readonly #byId = new Map<string, LiveSandbox>();
  /** Sandboxes about to run whose rows do not say so yet: places taken by `takePlace`. */
  starting = 0;

  get(sandboxId: string): LiveSandbox | undefined {
    return this.#byId.get(sandboxId);
  }

  set(sandbox: LiveSandbox): LiveSandbox {
    this.#byId.set(sandbox.row.id, sandbox);
    return sandbox;
  }

  delete(sandboxId: string): void {
    this.#byId.delete(sandboxId);
  }

  values(): IterableIterator<LiveSandbox> {
    return this.#byId.values();
  }

  get size(): number {
    return this.#byId.size;
  }
}

/** Puts sandboxes right whose change broke off, as after an outage of the database. */
export interface SandboxRepairs {
  /** Repairs it soon, and again until that succeeds. */
  later(live: LiveSandbox): void;
  /** Repairs it now. @throws what keeps it from being repaired. */
  now(live: LiveSandbox): Promise<void>;
}
