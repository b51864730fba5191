import {
  AuthenticationError,
  CapacityError,
  ConflictError,
  InvalidRequestError,
  PermissionError,
  RateLimitError,
  ServerError,
  StorageFullError,
} from './answer-errors.js';
import { SandboxGoneError, TimeoutError } from './connection-errors.js';
import { parseRateLimit, parseRetryAfter } from './rate-limit.js';
import type { Service } from './resource.js';
import { badIdentifierHint, notFoundClass, notFoundHint, type ResourceKind } from './resource.js';
import type { SvcError, SvcErrorDetails } from './svc-error.js';

/** A failed answer, read. */
export interface FailedAnswer {
  status: number;
  headers: Headers;
  /** The parsed record, the text, or nothing. */
  body?: unknown;
  /** The service that answered. The sandbox's gateway says 502 for a sandbox that does not run. */
  service: Service;
  /** Name of the SDK call. */
  operation: string;
  resource?: ResourceKind | undefined;
  /** Now, ms since 1970; for a `Retry-After` that is a date. */
  nowMs: number;
}

type Make = new (message: string, details?: SvcErrorDetails) => SvcError;
interface Row {
  make: Make;
  hint?: string | undefined;
  retryable?: boolean;
}

/** Placement failures by `error_code`, of any status. */
const byErrorCode: Record<string, Row> = {
  sandbox_capacity_unavailable: {
    make: CapacityError,
    hint: 'Every node is full: try again later, or kill sandboxes that are not needed.',
  },
  sandbox_no_compatible_node: {
    make: CapacityError,
    retryable: false,
    hint: 'No node can run this template: use another template, or add a node that fits.',
  },
  sandbox_placement_timeout: { make: CapacityError, hint: 'Finding a place took too long: try again.' },
  sandbox_feature_unsupported: {
    make: CapacityError,
    retryable: false,
    hint: 'No server here can do this, now or later.',
  },
  idempotency_in_progress: {
    make: ConflictError,
    retryable: true,
    hint: 'The first request with this idempotencyKey still runs: wait and repeat it with the same key.',
  },
  idempotency_request_mismatch: {
    make: ConflictError,
    hint: 'This idempotencyKey was used with other options: use a new key for a new request.',
  },
  idempotency_outcome_unknown: {
    make: ConflictError,
    hint: 'Look with sandboxes.list() whether the sandbox exists before you create it under a new key.',
  },
};

const credentialHints: Record<Service, string> = {
  platform: 'Check the apiKey option or SVC_API_KEY, and that it belongs to this apiUrl.',
  operator:
    "Check the token option or SVC_OPERATOR_TOKEN: it stands in operator-token in the server's data directory.",
  sandbox: "Check the user, and the sandbox's or volume's own token.",
  volumes: "Check the user, and the sandbox's or volume's own token.",
};

function byStatus(answer: FailedAnswer): Row {
  const { status, service, resource, headers } = answer;
  if (status === 401) return { make: AuthenticationError, hint: credentialHints[service] };
  if (status === 403) return { make: PermissionError };
  if (status === 404) return { make: notFoundClass(resource), hint: notFoundHint(resource) };
  if (status === 408)
    return {
      make: TimeoutError,
      retryable: true,
      hint: 'The connection was too slow, or what the body is read from stalled: send it again.',
    };
  if (status === 409) return { make: ConflictError };
  if (status === 429) {
    const waitMs = parseRetryAfter(headers, answer.nowMs);
    const hint =
      waitMs !== undefined
        ? `Wait ${Math.ceil(waitMs / 1000)} s before the next attempt, or spread the requests.`
        : 'Kill sandboxes that are not needed, or ask for a higher limit.';
    return { make: RateLimitError, hint };
  }
  if (status === 507)
    return {
      make: StorageFullError,
      hint: "The sandbox's disk is full: remove files, or build the template with more disk.",
    };
  if (status === 502 && service === 'sandbox') {
    return {
      make: SandboxGoneError,
      hint: 'It was killed, is paused, or reached its time to live. Raise timeoutMs, call setTimeout(), or connect() to wake a paused one.',
    };
  }
  if (status >= 500)
    return { make: ServerError, retryable: status === 502 || status === 503 || status === 504 };
  const hint = badIdentifierHint(resource, readRecord(answer.body).message ?? '');
  return { make: InvalidRequestError, hint };
}

/** The one table from a failed HTTP answer to an error: by `error_code`, then by status, service and resource. Pure. */
export function errorFromAnswer(answer: FailedAnswer): SvcError {
  const { message, errorCode } = readRecord(answer.body);
  const row =
    foreign(answer) ?? (errorCode === undefined ? undefined : byErrorCode[errorCode]) ?? byStatus(answer);
  const requestId = answer.headers.get('x-request-id') ?? undefined;
  const isForeign = foreign(answer) !== undefined;
  const said = message === undefined || isForeign ? `HTTP ${answer.status}` : message;
  const facts = [
    `status ${answer.status}`,
    ...(requestId === undefined ? [] : [`request ${requestId}`]),
  ].join(', ');
  const text = `${answer.operation}: ${endSentence(said)}${row.hint ? ` ${row.hint}` : ''} (${facts})`;
  return new row.make(text, {
    status: answer.status,
    requestId,
    errorCode,
    retryAfterMs: parseRetryAfter(answer.headers, answer.nowMs),
    rateLimit: parseRateLimit(answer.headers),
    operation: answer.operation,
    ...(row.retryable === undefined ? {} : { retryable: row.retryable }),
  });
}

/** A page where a record was due: something else than the service answered, a proxy or another program. */
function foreign({ body, status, headers, service, nowMs, operation }: FailedAnswer): Row | undefined {
  if (service !== 'platform' || typeof body !== 'string' || !/html/i.test(headers.get('content-type') ?? ''))
    return undefined;
  const hint =
    'A web page came instead of an answer of the service: check that apiUrl (SVC_API_URL) is right, and what stands in between.';
  // "Not found" must not pass for the service's own word: it would make a delete succeed.
  if (status < 500 && status !== 429) return { make: ServerError, hint, retryable: false };
  return { ...byStatus({ body, status, headers, service, nowMs, operation }), hint };
}

const longestText = 500;

function readRecord(body: unknown): { message?: string; errorCode?: string } {
  if (typeof body === 'string' && body.trim() !== '') return { message: body.trim().slice(0, longestText) };
  if (typeof body !== 'object' || body === null) return {};
  // Volumes call it `code`, which all others use to repeat the status as a number.
  const { message, code, error_code: errorCode = code } = body as Record<string, unknown>;
  return {
    ...(typeof message === 'string' && message !== '' ? { message: message.trim() } : {}),
    ...(typeof errorCode === 'string' && errorCode !== '' ? { errorCode } : {}),
  };
}

function endSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
