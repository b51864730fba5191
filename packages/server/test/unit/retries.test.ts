import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Retries } from '../../src/api/context/retries.js';

const log = { warn: () => {}, debug: () => {} };

describe('work that is tried again', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** Work that fails so often, and when it was tried. */
  function failing(times: number) {
    const triedAtMs: number[] = [];
    const work = async () => {
      triedAtMs.push(Math.round(performance.now() - startMs));
      if (triedAtMs.length <= times) throw new Error('not yet');
    };
    const startMs = performance.now();
    return { triedAtMs, work };
  }

  it('comes every second until it is done', async () => {
    const retries = new Retries({ log });
    const { triedAtMs, work } = failing(2);
    retries.add('a', work);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(triedAtMs).toEqual([1_000, 2_000, 3_000]);
    expect(retries.size).toBe(0);
  });

  it('comes at once, and then ever more seldom, where it is asked to', async () => {
    const retries = new Retries({ log });
    const { triedAtMs, work } = failing(9);
    retries.add('a', work, { atOnce: true, maxDelayMs: 60_000 });
    await vi.advanceTimersByTimeAsync(300_000);
    expect(triedAtMs).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183, 243].map((seconds) => seconds * 1_000));
    expect(retries.size).toBe(0);
  });

  it('is what was added last, from its own first delay on', async () => {
    const retries = new Retries({ log });
    const before = failing(100);
    retries.add('a', before.work, { maxDelayMs: 60_000 });
    await vi.advanceTimersByTimeAsync(20_000);
    const tried = before.triedAtMs.length;
    const after = failing(0);
    retries.add('a', after.work, { maxDelayMs: 60_000 });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(after.triedAtMs).toEqual([1_000]);
    expect(before.triedAtMs).toHaveLength(tried);
  });

  it('does not begin a second time while it is under way, and is waited for at the end', async () => {
    const retries = new Retries({ log });
    let begun = 0;
    let finish = () => {};
    retries.add(
      'a',
      () => {
        begun += 1;
        return new Promise<void>((resolve) => (finish = resolve));
      },
      { atOnce: true },
    );
    await vi.advanceTimersByTimeAsync(5_000);
    await retries.run();
    expect(begun).toBe(1);
    let closed = false;
    const closing = retries.close().then(() => (closed = true));
    await vi.advanceTimersByTimeAsync(0);
    expect(closed).toBe(false);
    finish();
    await closing;
    expect(retries.size).toBe(0);
  });
});
