import { ConnectionError } from './connection-errors.js';
import type { Service } from './resource.js';
import { SvcError } from './svc-error.js';

/** The underlying failure in words; the code is that of the operating system or of the HTTP client. */
const reasons: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there (connection refused)',
  ENOTFOUND: 'the host name does not exist',
  EAI_AGAIN: 'the host name could not be looked up',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed',
  ETIMEDOUT: 'connecting took too long',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  UND_ERR_CONNECT_TIMEOUT: 'connecting took too long',
  UND_ERR_SOCKET: 'the connection was closed before the answer was complete',
  UND_ERR_HEADERS_TIMEOUT: 'no answer came',
  UND_ERR_BODY_TIMEOUT: 'the answer stopped coming',
  CERT_HAS_EXPIRED: 'its TLS certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its TLS certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its TLS certificate is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its TLS certificate cannot be verified',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its TLS certificate is for another host',
};

/** Failures before the first byte of a request left. */
const unsentCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** The option that sets the address of each service. */
const addressOptions: Record<Service, string> = {
  platform: 'apiUrl (SVC_API_URL)',
  operator: 'operatorUrl (SVC_OPERATOR_URL)',
  sandbox: 'sandboxUrl (SVC_SANDBOX_URL)',
  volumes: 'sandboxUrl (SVC_SANDBOX_URL)',
};

/** Turns what a `fetch` rejected with into a ConnectionError; errors that are ours already stay as they are. Pure. */
export function errorFromNetwork(
  error: unknown,
  call: { operation: string; url: string; service: Service },
): SvcError {
  if (SvcError.is(error)) return error;
  const code = networkCode(error);
  const reason = (code && reasons[code]) ?? messageOf(error);
  const hint = `Check that the service runs and that ${addressOptions[call.service]} is right.`;
  return new ConnectionError(`${call.operation}: no answer from ${originOf(call.url)}: ${reason}. ${hint}`, {
    cause: error,
    operation: call.operation,
    unsent: code !== undefined && unsentCodes.has(code),
  });
}

/** Returns true when something thrown while an answer was read is the connection's doing, not the program's. */
export function isNetworkFailure(error: unknown): boolean {
  const code = networkCode(error);
  return (
    (code !== undefined && code in reasons) || (error instanceof TypeError && error.message === 'terminated')
  );
}

/** The first error code in a chain of causes. */
export function networkCode(error: unknown): string | undefined {
  for (let level = error, depth = 0; level instanceof Error && depth < 5; level = level.cause, depth++) {
    const { code } = level as { code?: unknown };
    if (typeof code === 'string') return code;
    const first = level instanceof AggregateError ? networkCode(level.errors[0]) : undefined;
    if (first !== undefined) return first;
  }
  return undefined;
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // The message of `fetch` itself is always the same; its cause knows more.
  const { cause } = error;
  if (error.message === 'fetch failed' && cause instanceof Error) return cause.message || error.message;
  return error.message || error.name;
}

function originOf(url: string): string {
  try {
    return new URL(url).origin;
  } catch {
    return 'the service';
  }
}
