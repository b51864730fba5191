import { constants } from 'node:os';

/**
 * The exit code for how a program ended, as a shell would give it: its own, or 128 and the number of the signal that
 * ended it. Pure.
 */
export function exitCodeOf(end: { exitCode: number; error?: string }): number {
  if (end.exitCode >= 0) return end.exitCode & 0xff;
  const name = /signal: (\w+)/.exec(end.error ?? '')?.[1];
  const number = name === undefined ? undefined : signalNumber(name);
  return number === undefined ? 1 : 128 + number;
}

/** Words that the daemon uses for signals, beside their names. */
const words: Record<string, keyof typeof constants.signals> = {
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

function signalNumber(name: string): number | undefined {
  const upper = name.toUpperCase();
  const signals: Record<string, number> = constants.signals;
  return signals[words[name] ?? ''] ?? signals[upper] ?? signals[`SIG${upper}`];
}
