/** A backup or a restore that cannot be, as a sentence for the operator. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
  /** Advice, as a sentence. */
  readonly hint: string | undefined;

  constructor(message: string, options: { hint?: string | undefined; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.hint = options.hint;
  }
}
