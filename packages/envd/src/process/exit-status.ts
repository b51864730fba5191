import { constants } from 'node:os';

/** How a program ended. */
export interface ExitStatus {
  /** Exit status; -1 when a signal ended it. */
  exitCode: number;
  exited: boolean;
  /** "exit status 3", "signal: killed". */
  status: string;
  /** Same text as `status`; absent for exit status 0. */
  error?: string;
}

const SIGNAL_TEXTS: Readonly<Record<string, string>> = {
  SIGHUP: 'hangup',
  SIGINT: 'interrupt',
  SIGQUIT: 'quit',
  SIGILL: 'illegal instruction',
  SIGTRAP: 'trace/breakpoint trap',
  SIGABRT: 'aborted',
  SIGBUS: 'bus error',
  SIGFPE: 'floating point exception',
  SIGKILL: 'killed',
  SIGUSR1: 'user defined signal 1',
  SIGSEGV: 'segmentation fault',
  SIGUSR2: 'user defined signal 2',
  SIGPIPE: 'broken pipe',
  SIGALRM: 'alarm clock',
  SIGTERM: 'terminated',
  SIGSTKFLT: 'stack fault',
  SIGXCPU: 'CPU time limit exceeded',
  SIGXFSZ: 'file size limit exceeded',
  SIGVTALRM: 'virtual timer expired',
  SIGPROF: 'profiling timer expired',
  SIGIO: 'I/O possible',
  SIGPWR: 'power failure',
  SIGSYS: 'bad system call',
};

/** The end of a program, from its exit status or the name of the signal that ended it. */
export function exitStatus(code: number | null, signal: NodeJS.Signals | null): ExitStatus {
  if (signal !== null) {
    const status = `signal: ${SIGNAL_TEXTS[signal] ?? `signal ${constants.signals[signal]}`}`;
    return { exitCode: -1, exited: false, status, error: status };
  }
  const exitCode = code ?? -1;
  const status = `exit status ${exitCode}`;
  return exitCode === 0
    ? { exitCode, exited: true, status }
    : { exitCode, exited: true, status, error: status };
}
