import { SvcError, type SvcErrorDetails } from './svc-error.js';

/** The API key or the sandbox's token is missing, malformed or unknown (401). */
export class AuthenticationError extends SvcError {
  static override readonly kind: string = 'AuthenticationError';
  static override readonly code: string = 'authentication';
}

/** The caller is known but may not do this: team banned or blocked, a feature not enabled, a private port (403). */
export class PermissionError extends SvcError {
  static override readonly kind: string = 'PermissionError';
  static override readonly code: string = 'permission';
}

/** The request says something that the service does not accept (400, 405, 413, 415, 422). */
export class InvalidRequestError extends SvcError {
  static override readonly kind: string = 'InvalidRequestError';
  static override readonly code: string = 'invalid_request';
}

/** The resource is in a state that does not allow this, or something of that name exists (409). */
export class ConflictError extends SvcError {
  static override readonly kind: string = 'ConflictError';
  static override readonly code: string = 'conflict';
}

/** Too many requests, or too many sandboxes of the team at once (429). */
export class RateLimitError extends SvcError {
  static override readonly kind: string = 'RateLimitError';
  static override readonly code: string = 'rate_limit';
  static override readonly retryable: boolean = true;
}

/** No place for a sandbox could be found, or not in time (503, 504 with an `errorCode` of placement). */
export class CapacityError extends SvcError {
  static override readonly kind: string = 'CapacityError';
  static override readonly code: string = 'capacity';
  static override readonly retryable: boolean = true;
}

/** The service failed (5xx). */
export class ServerError extends SvcError {
  static override readonly kind: string = 'ServerError';
  static override readonly code: string = 'server';
}

/** The sandbox's disk is full (507). */
export class StorageFullError extends SvcError {
  static override readonly kind: string = 'StorageFullError';
  static override readonly code: string = 'storage_full';
}

/** A template could not be built. */
export class BuildError extends SvcError {
  static override readonly kind: string = 'BuildError';
  static override readonly code: string = 'build';
  /** The step that failed: `base`, the number of the instruction from `1`, or `finalize`. */
  readonly step: string | undefined;
  constructor(message: string, details: SvcErrorDetails & { step?: string | undefined } = {}) {
    super(message, details);
    this.step = details.step;
  }
}

/** A webhook delivery is not what its signature says, or too old. */
export class WebhookVerificationError extends SvcError {
  static override readonly kind: string = 'WebhookVerificationError';
  static override readonly code: string = 'webhook_verification';
}
