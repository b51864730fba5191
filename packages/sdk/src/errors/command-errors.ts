import { SvcError, type SvcErrorDetails } from './svc-error.js';

/** The end of a command. */
export interface CommandOutcome {
  /** Exit status; -1 when a signal ended the program. */
  exitCode: number;
  /** Everything written to standard output, as UTF-8. */
  stdout: string;
  /** Everything written to standard error, as UTF-8. */
  stderr: string;
  /** `exit status 3`, `signal: killed`. Absent for exit status 0. */
  error?: string;
}

/** A command ended with a status other than 0. Carries everything it wrote; the message ends with the last of it. */
export class CommandExitError extends SvcError {
  static override readonly kind: string = 'CommandExitError';
  static override readonly code: string = 'command_exit';
  /** The command line. */
  readonly command: string;
  /** Exit status; -1 when a signal ended the program. */
  readonly exitCode: number;
  /** Everything written to standard output, as UTF-8. */
  readonly stdout: string;
  /** Everything written to standard error, as UTF-8. */
  readonly stderr: string;
  /** `exit status 3`, `signal: killed`. */
  readonly error: string | undefined;
  /** The outcome as `commands.run` gives it with `check: false`. */
  readonly result: CommandOutcome;

  constructor(command: string, result: CommandOutcome, details: SvcErrorDetails = {}) {
    super(describe(command, result), details);
    this.command = command;
    this.result = result;
    this.exitCode = result.exitCode;
    this.stdout = result.stdout;
    this.stderr = result.stderr;
    this.error = result.error;
    // A caller that prints the error gets its message, and the command's output once, not three times.
    for (const name of ['result', 'stdout', 'stderr'])
      Object.defineProperty(this, name, { enumerable: false });
  }
}

/**
 * The connection broke, and a part of a command's output, or how it ended, could not be got any more. The daemon keeps
 * the latest 1 MiB of a program's output, for 30 s after its end. Carries everything that was received.
 */
export class OutputLostError extends SvcError {
  static override readonly kind: string = 'OutputLostError';
  static override readonly code: string = 'output_lost';
  /** The command line. */
  readonly command: string;
  /** Bytes that are missing. Infinity when it is not known how many. */
  readonly lostBytes: number;
  /** Exit status; -1 when a signal ended the program. Undefined when it is lost too, or the program still ran. */
  readonly exitCode: number | undefined;
  /** The received part of standard output, as UTF-8. */
  readonly stdout: string;
  /** The received part of standard error, as UTF-8. */
  readonly stderr: string;

  constructor(
    command: string,
    received: { lostBytes: number; stdout: string; stderr: string; exitCode?: number | undefined },
    details: SvcErrorDetails = {},
  ) {
    const { lostBytes, stdout, stderr, exitCode } = received;
    super(lostText(command, lostBytes, exitCode), details);
    this.command = command;
    this.lostBytes = lostBytes;
    this.exitCode = exitCode;
    this.stdout = stdout;
    this.stderr = stderr;
  }
}

function lostText(command: string, lostBytes: number, exitCode: number | undefined): string {
  const amount = Number.isFinite(lostBytes) ? `${lostBytes} bytes` : 'An unknown part';
  const end = exitCode === undefined ? '' : ` The command ended with exit status ${exitCode}.`;
  return (
    `${amount} of the output of a command were lost while the connection was broken: ${shorten(command)}.${end} ` +
    'Write much output to a file and read that, or accept the loss with allowLostOutput.'
  );
}

function shorten(command: string): string {
  return command.length > 200 ? `${command.slice(0, 200)}...` : command;
}

const longestTail = 1000;

function describe(command: string, result: CommandOutcome): string {
  const how = result.error ?? `exit status ${result.exitCode}`;
  const tail = (result.stderr.trim() || result.stdout.trim()).slice(-longestTail);
  return `Command ended with ${how}: ${shorten(command)}${tail ? `\n${tail}` : ''}`;
}
