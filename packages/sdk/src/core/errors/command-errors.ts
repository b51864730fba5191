import { SvcError, type SvcErrorDetails } from './svc-error.js';

/** How a command ended. */
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

/** A command ended with a status other than 0. Carries everything it wrote. */
export class CommandExitError extends SvcError {
  static override readonly kind: string = 'CommandExitError';
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
    super(describe(command, result), 'command_exit', details);
    this.command = command;
    this.result = result;
    this.exitCode = result.exitCode;
    this.stdout = result.stdout;
    this.stderr = result.stderr;
    this.error = result.error;
  }
}

const longestTail = 1000;

function describe(command: string, result: CommandOutcome): string {
  const how = result.error ?? `exit status ${result.exitCode}`;
  const tail = (result.stderr.trim() || result.stdout.trim()).slice(-longestTail);
  const shown = command.length > 200 ? `${command.slice(0, 200)}...` : command;
  return `Command ended with ${how}: ${shown}${tail ? `\n${tail}` : ''}`;
}
