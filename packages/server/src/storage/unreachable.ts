/** The database does not take connections: what was asked for did not begin. */
export class DatabaseUnreachableError extends Error {
  override readonly name = 'DatabaseUnreachableError';
  /** What the system or the database says, such as `ECONNREFUSED`. */
  readonly code: string | undefined;

  constructor(cause: unknown) {
    const { message, code } = cause as { message?: string; code?: unknown };
    // Several addresses of one name fail together, with an empty text.
    super(message || String(code), { cause });
    this.code = typeof code === 'string' ? code : undefined;
  }
}
