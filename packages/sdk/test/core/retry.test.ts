import { describe, expect, it } from 'vitest';
import { type AttemptOutcome, decideRetry, type RetryQuestion } from '../../src/core/retry.js';

const answer = (status: number, retryAfterMs?: number): AttemptOutcome => ({
  kind: 'answer',
  status,
  retryAfterMs,
});
const broken: AttemptOutcome = { kind: 'connection', unsent: false };
const refused: AttemptOutcome = { kind: 'connection', unsent: true };

const ask = (outcome: AttemptOutcome, idempotent: boolean, rest: Partial<RetryQuestion> = {}) =>
  decideRetry({ outcome, idempotent, attempts: 1, maxRetries: 2, random: 0, ...rest });

describe('decideRetry', () => {
  it.each([
    ['a broken connection, idempotent', broken, true, true],
    ['a broken connection, not idempotent', broken, false, false],
    ['a refused connection, not idempotent', refused, false, true],
    ['429 with Retry-After, idempotent', answer(429, 1000), true, true],
    ['429 with Retry-After, not idempotent', answer(429, 1000), false, true],
    ['429 without Retry-After', answer(429), true, false],
    ['503 with Retry-After', answer(503, 1000), true, true],
    ['503 without Retry-After', answer(503), true, false],
    ['502, idempotent', answer(502), true, true],
    ['502, not idempotent', answer(502), false, false],
    ['504, idempotent', answer(504), true, true],
    ['408, idempotent', answer(408), true, true],
    ['408, not idempotent', answer(408), false, false],
    ['500', answer(500), true, false],
    ['404', answer(404), true, false],
    ['409', answer(409), true, false],
  ])('decides for %s', (_, outcome, idempotent, retry) => {
    expect(ask(outcome, idempotent).retry).toBe(retry);
  });

  it('never waits less than the service asked for', () => {
    for (const random of [0, 0.5, 1]) {
      const decision = ask(answer(429, 2000), true, { random });
      expect(decision).toMatchObject({ retry: true });
      expect((decision as { delayMs: number }).delayMs).toBeGreaterThanOrEqual(2000);
    }
  });

  it('refuses a wait of more than 30 s instead of sleeping', () => {
    expect(ask(answer(503, 31_000), true)).toEqual({ retry: false });
  });

  it('backs off exponentially with jitter', () => {
    const delay = (attempts: number, random: number) =>
      (ask(broken, true, { attempts, maxRetries: 9, random }) as { delayMs: number }).delayMs;
    expect([1, 2, 3, 9].map((attempts) => delay(attempts, 1))).toEqual([200, 400, 800, 4000]);
    expect([1, 2, 3, 9].map((attempts) => delay(attempts, 0))).toEqual([100, 200, 400, 2000]);
  });

  it('counts no attempt that a rate limit refused while a time limit is set', () => {
    const late = { attempts: 9, refused: 8 };
    expect(ask(answer(429, 1000), false, { ...late, remainingMs: 30_000 }).retry).toBe(true);
    expect(ask(answer(429, 1000), false, { ...late, remainingMs: 900 }).retry).toBe(false);
    expect(ask(answer(429, 1000), false, late).retry).toBe(false);
    expect(ask(broken, true, { ...late, remainingMs: 30_000 }).retry).toBe(true);
  });

  it('pauses longer and longer before a service that says "at once" again and again', () => {
    const delays = [0, 1, 2, 3].map((refused) =>
      ask(answer(429, 0), false, { attempts: refused + 1, refused, remainingMs: 30_000, random: 1 }),
    );
    expect(delays).toEqual([0, 200, 400, 800].map((delayMs) => ({ retry: true, delayMs })));
  });

  it('stops after the given number of retries', () => {
    expect(ask(broken, true, { attempts: 2 }).retry).toBe(true);
    expect(ask(broken, true, { attempts: 3 }).retry).toBe(false);
  });
});
