import type { Readable, Writable } from 'node:stream';
import type { ReadStream, WriteStream } from 'node:tty';

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

/** The kind of a standard input. */
export interface StdinFacts {
  isTerminal: boolean;
  kind: 'pipe' | 'file' | 'socket' | 'other';
}

/** Returns true where the caller passed input in: a pipe, a file or a socket; neither a terminal nor `/dev/null`. */
export function isPiped(facts: StdinFacts): boolean {
  return !facts.isTerminal && facts.kind !== 'other';
}
