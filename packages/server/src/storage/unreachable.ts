import { describeCause } from './cause.js';

/** The database does not take connections: what was asked for did not begin. */
export class DatabaseUnreachableError extends Error {
  override readonly name: string = 'DatabaseUnreachableError';
  /** What the system or the database says, such as `ECONNREFUSED`. */
  readonly code: string | undefined;

  constructor(cause: unknown) {
    const { text, code } = describeCause(cause);
    super(text, { cause });
    this.code = code;
  }
}

/** The connection to the database broke before the answer came: nobody knows whether the statement was carried out. */
export class DatabaseLostError extends Error {
  override readonly name = 'DatabaseLostError';

  constructor(cause: unknown) {
    super(describeCause(cause).text, { cause });
  }
}

/** Whether the database itself is away, so that the same is worth another try later. */
export function isDatabaseAway(error: unknown): boolean {
  return error instanceof DatabaseUnreachableError || error instanceof DatabaseLostError;
}
