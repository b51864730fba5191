/** Documented exit codes. `sandbox exec` and `sandbox shell` end with the program's own. */
export const exitCodes = { ok: 0, failure: 1, usage: 2, interrupted: 130, terminated: 143 } as const;

/** A failure that the command line itself found: what happened, and what to do about it. */
export class CliError extends Error {
  override readonly name: string = 'CliError';
  /** The remedy; a sentence or a few lines. */
  readonly hint: string | undefined;
  readonly exitCode: number;
  readonly code: string;

  constructor(
    message: string,
    options: { hint?: string; exitCode?: number; code?: string; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.hint = options.hint;
    this.exitCode = options.exitCode ?? exitCodes.failure;
    this.code = options.code ?? 'failed';
  }
}

/** The command line is wrong. */
export class UsageError extends CliError {
  override readonly name = 'UsageError';
  constructor(message: string, hint?: string) {
    super(message, { exitCode: exitCodes.usage, code: 'usage', ...(hint === undefined ? {} : { hint }) });
  }
}

/** Ctrl+C (SIGINT), or SIGTERM. */
export class Interrupted extends CliError {
  override readonly name = 'Interrupted';
  constructor(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') {
    const exitCode = { SIGINT: exitCodes.interrupted, SIGTERM: exitCodes.terminated, SIGHUP: 129 }[signal];
    super('Interrupted.', { exitCode, code: 'interrupted' });
  }
}

/** Ends the command line with a code, without a word. */
export class ExitWith extends CliError {
  override readonly name = 'ExitWith';
  constructor(exitCode: number) {
    super('', { exitCode, code: 'exit' });
  }
}
