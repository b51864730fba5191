/** The database does not take connections: what was asked for did not begin. */
export class DatabaseUnreachableError extends Error {
  override readonly name: string = 'DatabaseUnreachableError';
  /** The code of the system or the database, such as `ECONNREFUSED`. */
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

/** Returns whether the database itself is unreachable, so that the same is worth another try later. */
export function isDatabaseAway(error: unknown): boolean {
  return error instanceof DatabaseUnreachableError || error instanceof DatabaseLostError;
}

/** Returns the text and the code of a failure of the database or the system, such as `ECONNREFUSED`, `28P01`, `SQLITE_FULL`. */
export function describeCause(cause: unknown): { text: string; code: string | undefined } {
  const { message, code } = cause as { message?: string; code?: unknown };
  // Several addresses of one name fail together, with an empty text.
  return { text: message || String(code), code: typeof code === 'string' ? code : undefined };
}

/** Returns whether a statement failed because a row with the same unique key exists, in either dialect. */
export function isUniqueViolation(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === '23505' || code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY';
}
