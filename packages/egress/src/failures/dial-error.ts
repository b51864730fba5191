/** Why a connection that is allowed could not be made. The message is one of ours and goes into reports. */
export class DialError extends Error {
  override name = 'DialError';
}

/** Says why a connection failed, in words that hold nothing of what was sent. */
export function describeFailure(error: unknown): string {
  if (error instanceof DialError) return error.message;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^[A-Z0-9_]{1,40}$/.test(code) ? code : 'connection failed';
}
