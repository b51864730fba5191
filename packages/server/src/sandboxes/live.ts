import type { Instance } from '@svc/runtime';
import type { Selectable } from 'kysely';
import type { SandboxesTable } from '../storage/schema.js';

export type SandboxRow = Selectable<SandboxesTable>;

/** A change that is under way for one sandbox. */
export interface Transition {
  kind: 'creating' | 'pausing' | 'snapshotting' | 'killing' | 'resuming';
  /** Settles when it is over, whatever came of it. Never rejects. */
  done: Promise<unknown>;
}

/** One sandbox as this process knows it: the last row read or written, and the hold on its instance. */
export interface LiveSandbox {
  row: SandboxRow;
  instance: Instance | undefined;
  transition: Transition | undefined;
  /** Counts resumes: names one run for kept-alive connections. */
  run: number;
}

/** Sandboxes of this node by id: running, paused in RAM, or in transition. Rows of others are read when asked for. */
export class LiveSandboxes {
  readonly #byId = new Map<string, LiveSandbox>();

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
