import { ConnectionError, SandboxGoneError, SvcError } from '@svc/sdk';

/** What a failure means to a reader, and what to do. */
export function explain(error: unknown): string {
  if (SandboxGoneError.is(error)) return 'The sandbox is gone or paused.';
  if (ConnectionError.is(error) || error instanceof TypeError)
    return 'The server does not answer. What you see may be old; it is asked again by itself.';
  if (SvcError.is(error)) return error.message;
  return error instanceof Error ? error.message : String(error);
}
