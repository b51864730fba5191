import { fstatSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import type { ReadStream, WriteStream } from 'node:tty';
import { listenForInterrupts } from './interrupts.js';

/** The keys of a terminal, or a pipe, file or socket; the members of a terminal are there for a terminal alone. */
export type Input = Readable & Partial<Pick<ReadStream, 'isTTY' | 'setRawMode'>>;

/** A terminal, or a pipe, file or socket. */
export type Output = Writable & Partial<Pick<WriteStream, 'isTTY' | 'columns' | 'rows'>>;

/** The environment and streams that a command line works with: those of a process, or a caller's own. */
export interface Io {
  env: Record<string, string | undefined>;
  stdin: Input;
  /** True for a pipe, a file or a socket: neither a terminal nor `/dev/null`. */
  stdinIsPiped: boolean;
  stdout: Output;
  stderr: Output;
  /** Starts to listen for Ctrl+C and SIGTERM. A command that parses its own usage never does. */
  listen(): AbortSignal;
}

/** The streams of this process. */
export function processIo(): Io {
  return {
    env: process.env,
    // Getters: reading `process.stdin` opens it, which a command that needs none must not do.
    get stdin() {
      return process.stdin;
    },
    get stdinIsPiped() {
      return isPiped(stdinFacts());
    },
    stdout: process.stdout,
    stderr: process.stderr,
    listen: listenForInterrupts,
  };
}

/** The kind of a standard input. */
export interface StdinFacts {
  isTerminal: boolean;
  kind: 'pipe' | 'file' | 'socket' | 'other';
}

/** Returns true where the caller passed input in: a pipe, a file or a socket; neither a terminal nor `/dev/null`. */
export function isPiped(facts: StdinFacts): boolean {
  return !facts.isTerminal && facts.kind !== 'other';
}

function stdinFacts(): StdinFacts {
  try {
    const stat = fstatSync(0);
    const kind = stat.isFIFO() ? 'pipe' : stat.isFile() ? 'file' : stat.isSocket() ? 'socket' : 'other';
    return { isTerminal: process.stdin.isTTY === true, kind };
  } catch {
    return { isTerminal: false, kind: 'other' };
  }
}
