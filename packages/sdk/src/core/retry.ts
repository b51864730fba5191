/** The end of an attempt that did not succeed outright. */
export type AttemptOutcome =
  | { kind: 'answer'; status: number; retryAfterMs: number | undefined }
  | { kind: 'connection'; unsent: boolean };

export interface RetryQuestion {
  outcome: AttemptOutcome;
  /** Attempts made so far, at least 1. */
  attempts: number;
  /** Those of them, the last one left out, that a rate limit refused: they count only where no time limit ends them. Default 0. */
  refused?: number | undefined;
  /** Most further attempts after the first. */
  maxRetries: number;
  /** True when making the call twice is the same as making it once. */
  idempotent: boolean;
  /** Time left until the call's own limit, ms. Absent: it has none. */
  remainingMs?: number | undefined;
  /** Between 0 and 1. */
  random: number;
}

export type RetryDecision = { retry: true; delayMs: number } | { retry: false };

/** Longest wait before another attempt, ms. A longer `Retry-After` becomes an error. */
export const longestRetryWaitMs = 30_000;

const firstDelayMs = 200;
const longestDelayMs = 4_000;

/**
 * Decides if and when to try again. Pure.
 *
 * - A connection that failed before anything was sent: always. One that failed later: idempotent calls.
 * - 429 with `Retry-After`: always, because a rate limit refuses a request before anything is done. It is tried until the
 *   call's time limit would pass, however many attempts that takes; without a time limit attempts are counted.
 * - 503 with `Retry-After`, and 408, 502 and 504: idempotent calls. The service's wait is kept, up to 30 s.
 * - Everything else: never.
 */
export function decideRetry(question: RetryQuestion): RetryDecision {
  const { outcome, refused = 0, maxRetries, idempotent, remainingMs, random } = question;
  if (isRateLimited(outcome)) return decideRateLimited(outcome.retryAfterMs, question);
  const attempts = remainingMs === undefined ? question.attempts : question.attempts - refused;
  if (attempts > maxRetries) return { retry: false };
  if (outcome.kind === 'connection') {
    return idempotent || outcome.unsent
      ? { retry: true, delayMs: backoff(attempts, random) }
      : { retry: false };
  }
  if (!idempotent) return { retry: false };
  const { status, retryAfterMs } = outcome;
  if (retryAfterMs !== undefined && status === 503) return afterServiceWait(retryAfterMs, random);
  if (status === 408 || status === 502 || status === 504)
    return { retry: true, delayMs: backoff(attempts, random) };
  return { retry: false };
}

/** Returns true when a rate limit refused an attempt: nothing was done, and the answer says when to come again. */
export function isRateLimited(
  outcome: AttemptOutcome,
): outcome is { kind: 'answer'; status: number; retryAfterMs: number } {
  return outcome.kind === 'answer' && outcome.status === 429 && outcome.retryAfterMs !== undefined;
}

function decideRateLimited(retryAfterMs: number, question: RetryQuestion): RetryDecision {
  const { attempts, refused = 0, maxRetries, remainingMs, random } = question;
  if (maxRetries === 0 || (remainingMs === undefined && attempts > maxRetries)) return { retry: false };
  const decision = afterServiceWait(retryAfterMs, random);
  if (!decision.retry) return decision;
  // A service that says "at once" again and again is not asked without a pause.
  const delayMs = Math.max(decision.delayMs, refused === 0 ? 0 : backoff(refused, random));
  // A wait that the time limit would cut short is reported now, as a wait and not as a timeout.
  return remainingMs !== undefined && delayMs >= remainingMs ? { retry: false } : { retry: true, delayMs };
}

/** A little later than asked, so that many clients do not come back at the same moment. */
function afterServiceWait(retryAfterMs: number, random: number): RetryDecision {
  return retryAfterMs > longestRetryWaitMs
    ? { retry: false }
    : { retry: true, delayMs: Math.round(retryAfterMs + random * Math.min(1000, retryAfterMs / 4)) };
}

/** Doubles from 200 ms to 4 s; the real wait lies between half of that and all of it. */
function backoff(attempts: number, random: number): number {
  const ceiling = Math.min(longestDelayMs, firstDelayMs * 2 ** (attempts - 1));
  return Math.round(ceiling * (0.5 + random / 2));
}
