import type { ChildProcess } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { basename } from 'node:path';
import type { StartedAhead } from '../process/deps.js';
import type { PipeSource, Pipes } from '../process/pipes.js';
import type { ProgramSpec } from '../process/program.js';
import type { StartedProgram } from '../process/spawn-pipes.js';
import { execScript } from './exec-script.js';

/** A second program that starts so soon after the first means that more will follow, ms. */
const ROW_MS = 5000;
/** How long a shell waits for its program, ms. */
const WAIT_MS = 10_000;
/** When the next shell is made while the program before still runs, ms. */
const LATE_MS = 20;

type Identity = ProgramSpec['identity'];

export interface WaitingShellOptions {
  pipes: PipeSource;
  /** Starts `/bin/sh` without variables, reading from the first of the pipes. @throws Error of the system call. */
  start(identity: Identity, pipes: Pipes): ChildProcess;
  /** Milliseconds from any point. */
  now?: () => number;
}

interface WaitingShell extends StartedProgram {
  key: string;
  expiry: NodeJS.Timeout;
  gone(): void;
}

/**
 * Starts one shell ahead, which becomes the next program by exec. To start a program the daemon forks, which takes
 * longer than most of what follows; so it happens while nobody waits. Only while programs come in a row: a daemon at
 * rest has no shell.
 *
 * Measured: one after another, programs take two thirds of the time that they take without.
 */
export class WaitingShells implements StartedAhead {
  readonly #options: WaitingShellOptions;
  readonly #now: () => number;
  #waiting: WaitingShell | undefined;
  #preparing = false;
  #closed = false;
  #lastStart = Number.NEGATIVE_INFINITY;
  #suited: boolean | undefined;

  constructor(options: WaitingShellOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Makes the waiting shell the program, which has no input then. Undefined when there is none that can become it. */
  take(spec: ProgramSpec): StartedProgram | undefined {
    const shell = this.#waiting;
    if (shell?.key !== keyOf(spec.identity)) return undefined;
    const script = execScript(spec);
    if (script === undefined) return undefined;
    const { child, pipes } = this.#release(shell);
    try {
      pipes.command(script);
      return { child, pipes };
    } catch {
      // Somebody has just ended it.
      discard({ pipes });
      return undefined;
    }
  }

  /** A program of that account has been started: another may follow. */
  note(identity: Identity, whenEnded: (listener: () => void) => void): void {
    const now = this.#now();
    const inRow = now - this.#lastStart < ROW_MS;
    this.#lastStart = now;
    if (this.#waiting && this.#waiting.key !== keyOf(identity)) discard(this.#release(this.#waiting));
    if (!inRow || this.#waiting || this.#preparing || !this.#suits()) return;
    this.#preparing = true;
    const begin = (): void => {
      if (timer === undefined) return;
      clearTimeout(timer);
      timer = undefined;
      // What has to be said of the program's end comes first.
      setImmediate(() => void this.#prepare(identity));
    };
    let timer: NodeJS.Timeout | undefined = setTimeout(begin, LATE_MS);
    timer.unref();
    whenEnded(begin);
  }

  /** Ends the waiting shell and makes no more. */
  close(): void {
    this.#closed = true;
    if (this.#waiting) discard(this.#release(this.#waiting));
  }

  async #prepare(identity: Identity): Promise<void> {
    try {
      const pipes = await this.#options.pipes.take(true);
      if (this.#closed) return pipes.close();
      this.#keep(keyOf(identity), { child: this.#options.start(identity, pipes), pipes });
    } catch {
      // Without a shell the next program is started as the first was, and whoever starts it told what is wrong.
    } finally {
      this.#preparing = false;
    }
  }

  #keep(key: string, { child, pipes }: StartedProgram): void {
    pipes.started();
    const expiry = setTimeout(() => discard(this.#release(shell)), WAIT_MS);
    expiry.unref();
    const gone = (): void => this.#release(shell).pipes.close();
    const shell: WaitingShell = { key, child, pipes, expiry, gone };
    child.once('exit', gone);
    this.#waiting = shell;
  }

  #release(shell: WaitingShell): StartedProgram {
    clearTimeout(shell.expiry);
    shell.child.off('exit', shell.gone);
    if (this.#waiting === shell) this.#waiting = undefined;
    return shell;
  }

  // Other shells leave variables of their own behind, or run their own version of a program.
  #suits(): boolean {
    this.#suited ??= shellName() === 'dash';
    return this.#suited;
  }
}

function keyOf(identity: Identity): string {
  return identity ? `${identity.uid} ${identity.gid} ${identity.groups}` : '';
}

function shellName(): string {
  try {
    return basename(realpathSync('/bin/sh'));
  } catch {
    return '';
  }
}

/**
 * A shell ends with its input. It is not killed: in a copy of this daemon that is just being restored the time of the
 * waiting shell is over at once, and CRIU gives the whole sandbox up when a process dies that it has not let go yet.
 */
function discard({ pipes }: Pick<StartedProgram, 'pipes'>): void {
  pipes.close();
}
