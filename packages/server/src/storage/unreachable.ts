import { describeCause } from './cause.js';

/** The database does not take connections: what was asked for did not begin. */
export class DatabaseUnreachableError extends Error {
  override readonly name = 'DatabaseUnreachableError';
  /** What the system or the database says, such as `ECONNREFUSED`. */
  readonly code: string | undefined;

  constructor(cause: unknown) {
    const { text, code } = describeCause(cause);
    super(text, { cause });
    this.code = code;
  }
}
