import type { RequestOptions } from '../core/call-context.js';

/** Standard input of a program: text, bytes, or a stream of either. It is closed at the end of the source. */
export type StdinSource =
  | string
  | Uint8Array
  | ReadableStream<Uint8Array | string>
  | AsyncIterable<Uint8Array | string>
  | Iterable<Uint8Array | string>;

/** Options that all ways of following a command share. */
export interface FollowCommandOptions extends RequestOptions {
  /** True when aborting `signal` kills the process. False: it keeps running. Default true. */
  killOnAbort?: boolean | undefined;
  /** Called with each piece of standard output, as text; waited for, so that a slow one slows the program. */
  onStdout?: ((text: string) => Promise<void> | void) | undefined;
  /** Called with each piece of standard error, as text; waited for. */
  onStderr?: ((text: string) => Promise<void> | void) | undefined;
  /**
   * Bytes of output, both streams together, that are kept for the result and for readers that come late. Older output
   * is dropped, and the result has `truncated`. Default: all of it for `run`, 1 MiB for `start` and `connect`.
   */
  keepOutputBytes?: number | undefined;
  /**
   * The reaction when the connection breaks and, once it is made again, output of the time between is not kept any more.
   * False: `run` throws OutputLostError, and the streams `stdout` and `stderr` end with it. True: what follows is given,
   * and `lostBytes` is the number of missing bytes. Default false.
   */
  allowLostOutput?: boolean | undefined;
}

/** Options of a program to be started. */
export interface StartCommandOptions extends FollowCommandOptions {
  /** Working directory; `~` and relative paths start at the user's home. Default: the sandbox's, else the home. */
  cwd?: string | undefined;
  /** Variables of this process alone; they win over the sandbox's. */
  envs?: Record<string, string> | undefined;
  /** User inside the sandbox. Default: the sandbox's default user. */
  user?: string | undefined;
  /** Name to find the process by: `commands.connect({ tag })`. */
  tag?: string | undefined;
  /** True when the program gets a standard input: `command.stdin`. Default false: it reads end of file at once. */
  stdin?: boolean | undefined;
  /** Time limit of the process, ms; then it is killed. 0: unlimited. Default 0. */
  timeoutMs?: number | undefined;
}

/** Options of `commands.run`. */
export interface RunCommandOptions extends Omit<StartCommandOptions, 'stdin'> {
  /** True when an exit status other than 0 throws CommandExitError. False: it is returned. Default true. */
  check?: boolean | undefined;
  /** The program's standard input. Default: nothing. */
  stdin?: StdinSource | undefined;
  /** Time limit of the process, ms; then it is killed. 0: unlimited. Default 60 000. */
  timeoutMs?: number | undefined;
}

/** Options of following a command that runs already. */
export interface ConnectCommandOptions extends FollowCommandOptions {
  /** Longest time to follow it, ms; the process keeps running after that. 0: unlimited. Default 0. */
  timeoutMs?: number | undefined;
  /**
   * Which output to give: `all` that the sandbox keeps (the latest 1 MiB), then what follows; or only what is `new`.
   * `lostBytes` is what is missing from `all`. Default `all`.
   */
  output?: 'all' | 'new' | undefined;
}

/** The end of a command, and its output. */
export interface CommandResult {
  /** Exit status; -1 when a signal ended the program. */
  exitCode: number;
  /** Standard output as UTF-8. */
  stdout: string;
  /** Standard error as UTF-8. */
  stderr: string;
  /** `exit status 3`, `signal: killed`. Absent for exit status 0. */
  error?: string;
  /** Present when the connection broke and was made again: how often. */
  reattached?: number;
  /** Present when output is missing that was lost meanwhile, or before `connect`. Infinity: not known how much. */
  lostBytes?: number;
  /** Present when older output was dropped (`keepOutputBytes`). */
  truncated?: true;
}

/** Something that happened to a running command. */
export type CommandEvent =
  | {
      /** Which stream was written to. */
      readonly type: 'stdout' | 'stderr';
      /** The bytes as they were written. */
      readonly data: Uint8Array;
      /** The same as text; characters that are cut by the end of a piece come with the next. */
      readonly text: string;
    }
  /** The connection broke and was made again; `lostBytes` of output are missing at this place, most often 0. */
  | { readonly type: 'reattached'; readonly lostBytes: number };

/** A running process of the sandbox. */
export interface ProcessInfo {
  readonly pid: number;
  readonly tag: string | undefined;
  /** Program, as it was started. `commands.run` starts `/bin/bash` with `-l -c <line>`. */
  readonly command: string;
  readonly args: string[];
  readonly envs: Record<string, string>;
  readonly cwd: string | undefined;
  /** When it was started. Undefined where the sandbox's daemon is too old to report it. */
  readonly startedAt: Date | undefined;
}
