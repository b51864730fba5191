import { SvcError, type SvcErrorDetails } from './svc-error.js';

/** The API key or the sandbox's token is missing, malformed or unknown (401). */
export class AuthenticationError extends SvcError {
  static override readonly kind: string = 'AuthenticationError';
  constructor(message: string, details: SvcErrorDetails = {}) {
    super(message, 'authentication', details);
  }
}

/** The caller is known but may not do this: team banned or blocked, a feature not enabled, a private port (403). */
export class PermissionError extends SvcError {
  static override readonly kind: string = 'PermissionError';
  constructor(message: string, details: SvcErrorDetails = {}) {
    super(message, 'permission', details);
  }
}

/** The request says something that the service does not accept (400, 405, 413, 415, 422). */
export class InvalidRequestError extends SvcError {
  static override readonly kind: string = 'InvalidRequestError';
  constructor(message: string, details: SvcErrorDetails = {}) {
    super(message, 'invalid_request', details);
  }
}

/** The resource is in a state that does not allow this, or something of that name exists (409). */
export class ConflictError extends SvcError {
  static override readonly kind: string = 'ConflictError';
  constructor(message: string, details: SvcErrorDetails = {}) {
    super(message, 'conflict', details);
  }
}

/** Too many requests, or too many sandboxes of the team at once (429). */
export class RateLimitError extends SvcError {
  static override readonly kind: string = 'RateLimitError';
  constructor(message: string, details: SvcErrorDetails = {}) {
    super(message, 'rate_limit', { retryable: true, ...details });
  }
}

/** No place for a sandbox could be found, or not in time (503, 504 with an `errorCode` of placement). */
export class CapacityError extends SvcError {
  static override readonly kind: string = 'CapacityError';
  constructor(message: string, details: SvcErrorDetails = {}) {
    super(message, 'capacity', { retryable: true, ...details });
  }
}

/** The service failed (5xx). */
export class ServerError extends SvcError {
  static override readonly kind: string = 'ServerError';
  constructor(message: string, details: SvcErrorDetails = {}) {
    super(message, 'server', details);
  }
}

/** The sandbox's disk is full (507). */
export class StorageFullError extends SvcError {
  static override readonly kind: string = 'StorageFullError';
  constructor(message: string, details: SvcErrorDetails = {}) {
    super(message, 'storage_full', details);
  }
}

/** A template could not be built. */
export class BuildError extends SvcError {
  static override readonly kind: string = 'BuildError';
  /** The step that failed: `base`, the number of the instruction from `1`, or `finalize`. */
  readonly step: string | undefined;
  constructor(message: string, details: SvcErrorDetails & { step?: string | undefined } = {}) {
    super(message, 'build', details);
    this.step = details.step;
  }
}

/** A webhook delivery is not what its signature says, or too old. */
export class WebhookVerificationError extends SvcError {
  static override readonly kind: string = 'WebhookVerificationError';
  constructor(message: string, details: SvcErrorDetails = {}) {
    super(message, 'webhook_verification', details);
  }
}
