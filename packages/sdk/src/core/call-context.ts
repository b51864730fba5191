import type { ResourceKind, Service } from '../errors/resource.js';
import type { OperationObserver } from './telemetry.js';

/** Options that every call takes. */
export interface RequestOptions {
  /** Aborts the call; what it was aborted with is rethrown. */
  signal?: AbortSignal | undefined;
  /** Longest time for the whole call, retries included, ms. 0: none. Default: the client's `requestTimeoutMs`. */
  requestTimeoutMs?: number | undefined;
  /**
   * Most further attempts after a failed one. Default: the client's `maxRetries`. Attempts that a rate limit refused are
   * not counted while there is a time limit; 0 turns off those too.
   */
  maxRetries?: number | undefined;
}

/** Facts about one call that the engine needs. */
export interface CallContext {
  /** Name of the SDK call, such as `sandboxes.create`; in messages, log lines and events. */
  operation: string;
  service: Service;
  /** The kind of resource that the call is about: decides which "not found" a 404 becomes. */
  resource?: ResourceKind | undefined;
  /**
   * True when making the call twice is the same as making it once. Default: for HTTP by method and `Idempotency-Key`, for
   * RPCs false.
   */
  idempotent?: boolean | undefined;
  options?: RequestOptions | undefined;
  /** The sandbox that is called, and its template, where they are known. */
  sandbox?: { readonly sandboxId: string; readonly templateId?: string | undefined } | undefined;
  /** Follows an operation that this call is only a part of; the caller who gives it reports the end. Default: one of the call's own. */
  observer?: OperationObserver | undefined;
  /** Gets the number of each attempt, from 1, before it is made. Attempts that a rate limit refused are not counted. */
  onAttempt?: ((attempt: number) => void) | undefined;
}
