import { constants } from 'node:os';

/**
 * The exit code for how a program ended, as a shell would give it: its own, or 128 and the number of the signal that
 * ended it. Pure.
 */
export function exitCodeOf(end: { exitCode: number; error?: string }): number {
  if (end.exitCode >= 0) return end.exitCode & 0xff;
  const signal = signalOf(end.error);
  return signal === undefined ? 1 : 128 + constants.signals[signal];
}

/** The signal that ended a program, as the daemon's `signal: killed` names it. Pure. */
export function signalOf(error: string | undefined): NodeJS.Signals | undefined {
  const name = /signal: (\w+)/.exec(error ?? '')?.[1];
  if (name === undefined) return undefined;
  const upper = name.toUpperCase();
  return [words[name], upper, `SIG${upper}`].find(isSignal);
}

/** Words that the daemon uses for signals, beside their names. */
const words: Record<string, NodeJS.Signals> = {
  killed: 'SIGKILL',
  terminated: 'SIGTERM',
  interrupt: 'SIGINT',
  hangup: 'SIGHUP',
  quit: 'SIGQUIT',
  aborted: 'SIGABRT',
  segmentation: 'SIGSEGV',
  broken: 'SIGPIPE',
  alarm: 'SIGALRM',
  illegal: 'SIGILL',
  bus: 'SIGBUS',
  floating: 'SIGFPE',
};

function isSignal(name: string | undefined): name is NodeJS.Signals {
  return name !== undefined && name in constants.signals;
}
