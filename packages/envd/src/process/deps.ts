import type { EnvdContext } from '../context.js';
import type { LogRing } from '../log-ring/log-ring.js';
import type { HeapRoom } from '../system/heap-room.js';
import type { OpenTerminals } from './open-terminals.js';
import type { OutputBudget } from './output-budget.js';
import type { PipeSource } from './pipes.js';
import type { ProcessTable } from './process-table.js';
import type { ProgramSpec } from './program.js';
import type { StartedProgram } from './spawn-pipes.js';

/** Shells that were started ahead of the programs that they become. */
export interface StartedAhead {
  /** Makes one the program, which has no input then. Undefined when there is none that can become it. */
  take(spec: ProgramSpec): StartedProgram | undefined;
  /** A program of that account has been started: another may follow. */
  note(identity: ProgramSpec['identity'], whenEnded: (listener: () => void) => void): void;
}

/** What the Process service works with. */
export interface ProcessDeps {
  context: EnvdContext;
  table: ProcessTable;
  budget: OutputBudget;
  logs: LogRing;
  pipes: PipeSource;
  shells: StartedAhead;
  terminals: OpenTerminals;
  /** Told of every byte of output and input. */
  room: HeapRoom;
  /** The daemon's own PATH, which processes start with. */
  daemonPath: string | undefined;
  /** @throws Error when the kernel refuses. */
  kill(pid: number, signal: NodeJS.Signals): void;
}
