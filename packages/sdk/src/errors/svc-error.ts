import type { RateLimit } from './rate-limit.js';

/** Facts of a failure beyond its message. */
export interface SvcErrorDetails {
  /** Stable word for programs. Default: that of the class. */
  code?: string | undefined;
  /** HTTP status of the answer. Default: none, because no answer came. */
  status?: number | undefined;
  /** `X-Request-Id` of the answer, for the operator of the service. */
  requestId?: string | undefined;
  /** True when the same call may succeed when it is made again. Default: that of the class. */
  retryable?: boolean | undefined;
  /** The service's `error_code`, an open set. */
  errorCode?: string | undefined;
  /** The wait that the service asked for, ms. */
  retryAfterMs?: number | undefined;
  /** State of the rate limit, if the answer had it. */
  rateLimit?: RateLimit | undefined;
  /** Name of the SDK call that failed, such as `sandboxes.create`. */
  operation?: string | undefined;
  /** The error that caused it. */
  cause?: unknown;
}

type Brand = abstract new (...values: never[]) => unknown;

const brandOf = (name: string) => Symbol.for(`svc.error.${name}`);

/**
 * Root of every error that this SDK throws on its own account. Recognise errors with `is`, which also works between two
 * copies of the package: `if (NotFoundError.is(error)) ...`. What a caller's own signal was aborted with is rethrown as
 * it is, and is none of these.
 */
export class SvcError extends Error {
  /** Name by which copies of the package recognise the class. */
  static readonly kind: string = 'SvcError';
  /** `code` of its errors. */
  static readonly code: string = 'error';
  /** `retryable` of its errors, unless one says otherwise. */
  static readonly retryable: boolean = false;

  /** Stable word for programs, such as `sandbox_not_found`. */
  readonly code: string;
  /** HTTP status, when an answer came. */
  readonly status: number | undefined;
  /** Request id of the answer, when it had one. */
  readonly requestId: string | undefined;
  /** True when the same call may succeed when it is made again. */
  readonly retryable: boolean;
  /** The service's `error_code`, an open set. */
  readonly errorCode: string | undefined;
  /** The wait that the service asked for, ms. */
  readonly retryAfterMs: number | undefined;
  /** State of the rate limit, if the answer had it. */
  readonly rateLimit: RateLimit | undefined;
  /** Name of the SDK call that failed, such as `sandboxes.create`. */
  readonly operation: string | undefined;

  constructor(message: string, details: SvcErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = details.code ?? new.target.code;
    this.status = details.status;
    this.requestId = details.requestId;
    this.retryable = details.retryable ?? new.target.retryable;
    this.errorCode = details.errorCode;
    this.retryAfterMs = details.retryAfterMs;
    this.rateLimit = details.rateLimit;
    this.operation = details.operation;
    markKinds(this, new.target);
  }

  /** Returns true for an error of this class or one below it, made by any copy of the package. */
  static is<Class extends Brand & { readonly kind: string }>(
    this: Class,
    value: unknown,
  ): value is InstanceType<Class> {
    // biome-ignore lint/complexity/noThisInStatic: `this` is the class that was asked, often one below this one.
    return typeof value === 'object' && value !== null && brandOf(this.kind) in value;
  }
}

/** Gives the error the name of its class, and a hidden mark for each class from there up to the root. */
function markKinds(error: SvcError, start: { readonly kind: string }): void {
  Object.defineProperty(error, 'name', { value: start.kind, configurable: true, writable: true });
  for (let level = start; typeof level?.kind === 'string'; level = Object.getPrototypeOf(level)) {
    Object.defineProperty(error, brandOf(level.kind), { value: true });
  }
}
