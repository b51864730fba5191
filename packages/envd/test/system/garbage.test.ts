import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createGarbageDuty } from '../../src/system/garbage.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function duty() {
  const collect = vi.fn();
  const { note } = createGarbageDuty(collect);
  return { collect, note: (times: number) => Array.from({ length: times }, note) };
}

describe('the garbage duty', () => {
  it('does nothing after few calls', () => {
    const { collect, note } = duty();
    note(63);
    vi.runAllTimers();
    expect(collect).not.toHaveBeenCalled();
  });

  it('collects once at the first rest after many calls, and again after as many more', () => {
    const { collect, note } = duty();
    note(70);
    expect(collect).not.toHaveBeenCalled();
    vi.runAllTimers();
    expect(collect).toHaveBeenCalledTimes(1);
    note(63);
    vi.runAllTimers();
    expect(collect).toHaveBeenCalledTimes(1);
    note(1);
    vi.runAllTimers();
    expect(collect).toHaveBeenCalledTimes(2);
  });

  it('waits while calls keep coming, but not for ever', () => {
    const { collect, note } = duty();
    note(64);
    for (let index = 64; index < 191; index++) {
      vi.advanceTimersByTime(10);
      note(1);
    }
    expect(collect).not.toHaveBeenCalled();
    note(1);
    vi.runAllTimers();
    expect(collect).toHaveBeenCalledTimes(1);
  });
});
