import {
  AuthenticationError,
  ConflictError,
  InvalidRequestError,
  PermissionError,
  RateLimitError,
  ServerError,
} from './answer-errors.js';
import { notFoundClass, notFoundHint, type ResourceKind } from './resource.js';
import type { SvcError, SvcErrorDetails } from './svc-error.js';

/** Codes of the Connect protocol by number, as its library counts them. */
const names: Record<number, string> = {
  1: 'canceled',
  2: 'unknown',
  3: 'invalid_argument',
  4: 'deadline_exceeded',
  5: 'not_found',
  6: 'already_exists',
  7: 'permission_denied',
  8: 'resource_exhausted',
  9: 'failed_precondition',
  10: 'aborted',
  11: 'out_of_range',
  12: 'unimplemented',
  13: 'internal',
  14: 'unavailable',
  15: 'data_loss',
  16: 'unauthenticated',
};

/** An error of the Connect library, recognised by its shape: the library itself is loaded only when it is used. */
export interface ConnectFailure extends Error {
  readonly code: number;
  readonly rawMessage: string;
  readonly metadata: Headers;
}

/** Returns true for an error of the Connect library, of any copy of it. */
export function isConnectFailure(value: unknown): value is ConnectFailure {
  return (
    value instanceof Error &&
    value.name === 'ConnectError' &&
    typeof (value as ConnectFailure).code === 'number'
  );
}

/** Name of the Connect code of an error: `not_found`, `unavailable`; undefined for other errors. */
export function connectCode(error: unknown): string | undefined {
  return isConnectFailure(error) ? (names[error.code] ?? 'unknown') : undefined;
}

/**
 * Turns an error of an RPC into ours. Pure. `unavailable`, `canceled` and `deadline_exceeded` need more than the error
 * to be distinguished (did the sandbox go, the network break, a limit fire?) and are the caller's business.
 */
export function errorFromConnect(
  error: ConnectFailure,
  call: { operation: string; resource?: ResourceKind | undefined },
): SvcError {
  const code = names[error.code] ?? 'unknown';
  const requestId = error.metadata?.get?.('x-request-id') ?? undefined;
  const said = error.rawMessage.replace(/[.]$/, '');
  const facts = [code, ...(requestId === undefined ? [] : [`request ${requestId}`])].join(', ');
  const text = (hint?: string) => `${call.operation}: ${said}.${hint ? ` ${hint}` : ''} (${facts})`;
  const details: SvcErrorDetails = { requestId, cause: error, operation: call.operation };
  switch (code) {
    case 'invalid_argument':
    case 'out_of_range':
    case 'unimplemented':
      return new InvalidRequestError(text(), details);
    case 'unauthenticated':
      return new AuthenticationError(
        text('Check that the user exists in the sandbox, and the sandbox handle is its own.'),
        details,
      );
    case 'permission_denied':
      return new PermissionError(text(), details);
    case 'not_found':
      return new (notFoundClass(call.resource))(text(notFoundHint(call.resource)), details);
    case 'already_exists':
    case 'aborted':
    case 'failed_precondition':
      return new ConflictError(text(), details);
    case 'resource_exhausted':
      // Not said by the sandbox: the answer was longer than is taken.
      if (error.rawMessage.includes('readMaxBytes')) return new ServerError(text(), details);
      return new RateLimitError(text(), details);
    default:
      return new ServerError(text(), details);
  }
}
