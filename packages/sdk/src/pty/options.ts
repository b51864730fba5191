import type { RequestOptions } from '../core/call-context.js';

/** Size of a terminal in character cells. */
export interface PtySize {
  cols: number;
  rows: number;
}

/** Options for following a terminal. */
export interface ConnectPtyOptions extends RequestOptions {
  /** Called with what the terminal shows; waited for. */
  onData?: ((data: Uint8Array) => Promise<void> | void) | undefined;
  /** Longest time to follow it, ms; 0: unlimited. Default 0. */
  timeoutMs?: number | undefined;
  /** True when aborting `signal` kills the programs of the terminal. Default true for `create`, false for `connect`. */
  killOnAbort?: boolean | undefined;
}

/** Options for attaching to an open terminal. */
export interface AttachPtyOptions extends ConnectPtyOptions {
  /**
   * Which output to give: `all` that the sandbox keeps (the latest 1 MiB), then what follows; or only what is `new`.
   * Default `all`.
   */
  output?: 'all' | 'new' | undefined;
}

/** A terminal to be opened. */
export interface CreatePtyOptions extends ConnectPtyOptions {
  /** Width in character cells. Default 80. */
  cols?: number | undefined;
  /** Height in character cells. Default 24. */
  rows?: number | undefined;
  /** The program of the terminal. Default: an interactive login shell, `/bin/bash -i -l`. */
  command?: readonly [program: string, ...args: string[]] | undefined;
  /** Working directory. Default: the sandbox's, else the user's home. */
  cwd?: string | undefined;
  /** Variables; they win over `TERM=xterm-256color`, `LANG=C.UTF-8` and `LC_ALL=C.UTF-8`. */
  envs?: Record<string, string> | undefined;
  /** User inside the sandbox. Default: the sandbox's default user. */
  user?: string | undefined;
  /** Name to find it by. */
  tag?: string | undefined;
}

/** The end of a terminal's program. */
export interface PtyResult {
  /** Exit status; -1 when a signal ended it. */
  exitCode: number;
  /** `exit status 3`, `signal: killed`. Absent for exit status 0. */
  error?: string;
}
