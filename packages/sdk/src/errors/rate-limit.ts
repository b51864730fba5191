/** The state of a rate limit as an answer reported it. */
export interface RateLimit {
  /** Requests that the limit allows at once. */
  limit?: number;
  /** Requests left now. */
  remaining?: number;
  /** Milliseconds until the limit is full again. */
  resetMs?: number;
}

/** Reads `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` (seconds). Undefined when none is there. */
export function parseRateLimit(headers: Headers): RateLimit | undefined {
  const limit = readNumber(headers.get('ratelimit-limit'));
  const remaining = readNumber(headers.get('ratelimit-remaining'));
  const reset = readNumber(headers.get('ratelimit-reset'));
  if (limit === undefined && remaining === undefined && reset === undefined) return undefined;
  return {
    ...(limit === undefined ? {} : { limit }),
    ...(remaining === undefined ? {} : { remaining }),
    ...(reset === undefined ? {} : { resetMs: reset * 1000 }),
  };
}

/**
 * Reads `Retry-After` as milliseconds from now: seconds, or an HTTP date. Undefined when absent or unreadable; a date
 * in the past is 0.
 */
export function parseRetryAfter(headers: Headers, nowMs: number): number | undefined {
  const value = headers.get('retry-after')?.trim();
  if (!value) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Math.ceil(Number(value) * 1000);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

function readNumber(value: string | null): number | undefined {
  const match = /^\s*(\d+)/.exec(value ?? '');
  return match ? Number(match[1]) : undefined;
}
