/** What the database or the system says of a failure: its text, and its code, such as `ECONNREFUSED`, `28P01`, `SQLITE_FULL`. */
export function describeCause(cause: unknown): { text: string; code: string | undefined } {
  const { message, code } = cause as { message?: string; code?: unknown };
  // Several addresses of one name fail together, with an empty text.
  return { text: message || String(code), code: typeof code === 'string' ? code : undefined };
}
