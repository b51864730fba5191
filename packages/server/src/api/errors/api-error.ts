const BRAND = Symbol.for('@svc/server/ApiError');

/** The error record of the platform API. @wire Error */
export interface ErrorRecord {
  code: number;
  message: string;
  error_code?: string;
}

export interface ApiErrorOptions {
  status: number;
  message: string;
  /** Only where the catalog documents one. */
  errorCode?: string;
  headers?: Record<string, string>;
  /** Whole seconds to wait, sent as `Retry-After`. */
  retryAfterSeconds?: number;
  /** For the server's log only. */
  cause?: unknown;
}

/** A failure that the caller may see. Made by the catalog only. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly [BRAND] = true;
  readonly status: number;
  readonly errorCode: string | undefined;
  readonly headers: Record<string, string>;

  constructor(options: ApiErrorOptions) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status;
    this.errorCode = options.errorCode;
    this.headers = {
      ...options.headers,
      ...(options.retryAfterSeconds === undefined
        ? {}
        : { 'Retry-After': String(options.retryAfterSeconds) }),
    };
  }

  toRecord(): ErrorRecord {
    return {
      code: this.status,
      message: this.message,
      ...(this.errorCode === undefined ? {} : { error_code: this.errorCode }),
    };
  }

  static is(error: unknown): error is ApiError {
    return typeof error === 'object' && error !== null && (error as { [BRAND]?: unknown })[BRAND] === true;
  }
}
