import type { RateLimit } from '../../config/setting.js';
import { RateShares } from './rate-shares.js';

export interface RateVerdict {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Whole seconds until the bucket is full. */
  resetSeconds: number;
  /** Whole seconds until one token, at least 1. */
  retryAfterSeconds: number;
}

/**
 * Takes one token by the generic cell rate algorithm. The state is one number, the theoretical arrival time in ms.
 * @param arrivalMs the state before, or undefined for a full bucket.
 */
export function takeToken(
  limit: RateLimit,
  arrivalMs: number | undefined,
  nowMs: number,
): { verdict: RateVerdict; arrivalMs: number } {
  const interval = 1000 / limit.rate;
  // A limit that has changed since: nobody owes more than an empty bucket of now.
  const before = Math.min(Math.max(arrivalMs ?? nowMs, nowMs), nowMs + limit.burst * interval);
  const after = before + interval;
  const allowed = after - nowMs <= limit.burst * interval + 1e-6;
  const arrival = allowed ? after : before;
  const used = (arrival - nowMs) / interval;
  return {
    arrivalMs: arrival,
    verdict: {
      allowed,
      limit: limit.burst,
      remaining: Math.max(0, Math.floor(limit.burst - used + 1e-6)),
      resetSeconds: Math.ceil((arrival - nowMs) / 1000),
      retryAfterSeconds: Math.max(1, Math.ceil((after - nowMs - limit.burst * interval) / 1000)),
    },
  };
}

/** Buckets of one process, by team and route group. Where other processes have buckets of the same teams, each gives its share. */
export class RateLimiter {
  readonly #limits: Record<string, RateLimit>;
  readonly #now: () => number;
  readonly #arrivals = new Map<string, number>();
  /** Undefined for a process that has the teams for itself. */
  readonly shares: RateShares | undefined;

  constructor(limits: Record<string, RateLimit>, now: () => number, options: { shared?: boolean } = {}) {
    this.#limits = limits;
    this.#now = now;
    if (options.shared === true)
      this.shares = new RateShares((key) => limits[key.slice(0, key.indexOf(' '))]?.rate ?? 0);
  }

  /** Undefined when the group has no limit. */
  take(group: string, teamId: string): RateVerdict | undefined {
    const limit = this.#limits[group];
    if (limit === undefined || limit.rate <= 0) return undefined;
    const key = `${group} ${teamId}`;
    const now = this.#now();
    this.shares?.count(key);
    const part = partOf(limit, this.shares?.of(key) ?? 1);
    const { verdict, arrivalMs } = takeToken(part, this.#arrivals.get(key), now);
    if (this.#arrivals.size > 20_000) this.#forgetFull(now);
    this.#arrivals.set(key, arrivalMs);
    return { ...verdict, limit: limit.burst };
  }

  #forgetFull(now: number): void {
    for (const [key, arrival] of this.#arrivals) if (arrival <= now) this.#arrivals.delete(key);
  }
}

/** A bucket below one token would give none, however long somebody waits. */
function partOf({ rate, burst }: RateLimit, share: number): RateLimit {
  return { rate: rate * share, burst: Math.max(1, burst * share) };
}

export function rateLimitHeaders(verdict: RateVerdict): Record<string, string> {
  return {
    'RateLimit-Limit': String(verdict.limit),
    'RateLimit-Remaining': String(verdict.remaining),
    'RateLimit-Reset': String(verdict.resetSeconds),
  };
}
