/** How an attempt ended, when it did not succeed outright. */
export type AttemptOutcome =
  | { kind: 'answer'; status: number; retryAfterMs: number | undefined }
  | { kind: 'connection'; unsent: boolean };

export interface RetryQuestion {
  outcome: AttemptOutcome;
  /** Attempts made so far, at least 1. */
  attempts: number;
  /** Most further attempts after the first. */
  maxRetries: number;
  /** Whether making the call twice is the same as making it once. */
  idempotent: boolean;
  /** Between 0 and 1. */
  random: number;
}

export type RetryDecision = { retry: true; delayMs: number } | { retry: false };

/** Longest wait that is slept through, ms. A longer `Retry-After` is handed to the caller as an error. */
export const longestRetryWaitMs = 30_000;

const firstDelayMs = 200;
const longestDelayMs = 4_000;

/**
 * Whether and when to try again. Pure.
 *
 * - A connection that failed before anything was sent: always. One that failed later: idempotent calls.
 * - 429 and 503 with `Retry-After`, and 408, 502 and 504: idempotent calls. The service's wait is kept, up to 30 s.
 * - Everything else: never.
 */
export function decideRetry(question: RetryQuestion): RetryDecision {
  const { outcome, attempts, maxRetries, idempotent, random } = question;
  if (attempts > maxRetries) return { retry: false };
  if (outcome.kind === 'connection') {
    return idempotent || outcome.unsent
      ? { retry: true, delayMs: backoff(attempts, random) }
      : { retry: false };
  }
  if (!idempotent) return { retry: false };
  const { status, retryAfterMs } = outcome;
  if (retryAfterMs !== undefined && (status === 429 || status === 503)) {
    // A little later than asked, so that many clients that were told the same do not come back together.
    return retryAfterMs > longestRetryWaitMs
      ? { retry: false }
      : { retry: true, delayMs: Math.round(retryAfterMs + random * Math.min(1000, retryAfterMs / 4)) };
  }
  if (status === 408 || status === 502 || status === 504)
    return { retry: true, delayMs: backoff(attempts, random) };
  return { retry: false };
}

/** Doubles from 200 ms to 4 s; the real wait lies between half of that and all of it. */
function backoff(attempts: number, random: number): number {
  const ceiling = Math.min(longestDelayMs, firstDelayMs * 2 ** (attempts - 1));
  return Math.round(ceiling * (0.5 + random / 2));
}
