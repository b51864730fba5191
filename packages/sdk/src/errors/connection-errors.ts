import { SvcError, type SvcErrorDetails } from './svc-error.js';

/** No answer came, or it broke off: name not resolved, connection refused or reset, TLS refused. */
export class ConnectionError extends SvcError {
  static override readonly kind: string = 'ConnectionError';
  static override readonly code: string = 'connection';
  static override readonly retryable: boolean = true;
  /** True when the request certainly never reached the service, so that repeating it cannot do it twice. */
  readonly unsent: boolean;
  constructor(message: string, details: SvcErrorDetails & { unsent?: boolean | undefined } = {}) {
    super(message, details);
    this.unsent = details.unsent ?? false;
  }
}

/** Facts of a time limit that fired. */
export interface TimeoutDetails extends SvcErrorDetails {
  /** The option that moves the limit. */
  option?: string | undefined;
  /** The limit, ms. */
  limitMs?: number | undefined;
}

/** A time limit fired: of the SDK, where `option` names the option that moves it, or of the service (408). */
export class TimeoutError extends SvcError {
  static override readonly kind: string = 'TimeoutError';
  static override readonly code: string = 'timeout';
  /** The option that moves the limit; undefined where the caller cannot move it. */
  readonly option: string | undefined;
  /** The limit, ms. */
  readonly limitMs: number | undefined;
  constructor(message: string, details: TimeoutDetails = {}) {
    super(message, details);
    this.option = details.option;
    this.limitMs = details.limitMs;
  }
}

/** A call took longer than `requestTimeoutMs`, retries included. */
export class RequestTimeoutError extends TimeoutError {
  static override readonly kind: string = 'RequestTimeoutError';
  static override readonly code: string = 'request_timeout';
  static override readonly retryable: boolean = true;
}

/** A command ran longer than its `timeoutMs` and was killed. */
export class CommandTimeoutError extends TimeoutError {
  static override readonly kind: string = 'CommandTimeoutError';
  static override readonly code: string = 'command_timeout';
  /** Its standard output until then. */
  readonly stdout: string;
  /** Its standard error until then. */
  readonly stderr: string;
  constructor(message: string, details: TimeoutDetails & { stdout?: string; stderr?: string } = {}) {
    super(message, details);
    this.stdout = details.stdout ?? '';
    this.stderr = details.stderr ?? '';
  }
}

/**
 * Why a sandbox does not run any more. `expired`: it was killed at the end of its time to live; `ended`: its machine stopped
 * by itself; `gone`: the reason is not known.
 */
export type SandboxGoneReason = 'paused' | 'killed' | 'expired' | 'ended' | 'gone';

/** The sandbox does not run any more: it was killed, is paused, or reached the end of its time to live. */
export class SandboxGoneError extends TimeoutError {
  static override readonly kind: string = 'SandboxGoneError';
  static override readonly code: string = 'sandbox_gone';
  /** Why it does not run. A `paused` one can be resumed; the others are deleted. */
  readonly reason: SandboxGoneReason;
  constructor(message: string, details: TimeoutDetails & { reason?: SandboxGoneReason | undefined } = {}) {
    super(message, details);
    this.reason = details.reason ?? 'gone';
  }
}
