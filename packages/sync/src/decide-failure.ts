import {
  CapacityError,
  ConflictError,
  ConnectionError,
  OutputLostError,
  RateLimitError,
  SandboxGoneError,
  ServerError,
  TimeoutError,
} from '@svc/sdk';

/** Whether a failed round is tried again. Only what may be over by itself is: the way to the sandbox, or its pause. */
export function decideFailure(error: unknown): 'retry' | 'stop' {
  if (SandboxGoneError.is(error)) return error.reason === 'paused' ? 'retry' : 'stop';
  const passes = [
    ConnectionError,
    TimeoutError,
    ServerError,
    RateLimitError,
    CapacityError,
    ConflictError,
    OutputLostError,
  ];
  return passes.some((kind) => kind.is(error)) ? 'retry' : 'stop';
}
