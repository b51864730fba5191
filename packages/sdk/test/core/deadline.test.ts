import { describe, expect, it } from 'vitest';
import { Deadline, sleep } from '../../src/core/deadline.js';

const forever = () => new Promise<never>(() => {});

describe('Deadline', () => {
  it('throws what the caller aborted with, not a timeout', async () => {
    const controller = new AbortController();
    const deadline = new Deadline({ signal: controller.signal, timeoutMs: 60_000 });
    const reason = { why: 'changed my mind' };
    const result = deadline.run(forever);
    controller.abort(reason);
    await expect(result).rejects.toBe(reason);
  });

  it('throws the reason even when the work failed with something else because of it', async () => {
    const controller = new AbortController();
    const deadline = new Deadline({ signal: controller.signal });
    const result = deadline.run(async (signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      throw new TypeError('terminated');
    });
    controller.abort('stop');
    await expect(result).rejects.toBe('stop');
  });

  it('throws the timeout error with its limit', async () => {
    const deadline = new Deadline({ timeoutMs: 5, onTimeout: (limit) => new RangeError(`after ${limit}`) });
    await expect(deadline.run(forever)).rejects.toThrow('after 5');
  });

  it('starts no work when the caller has aborted already', async () => {
    const deadline = new Deadline({ signal: AbortSignal.abort('early') });
    let started = false;
    await expect(deadline.run(async () => (started = true))).rejects.toBe('early');
    expect(started).toBe(false);
  });

  it('has no limit with 0, nor with one that timers cannot count', async () => {
    for (const timeoutMs of [0, 2 ** 40]) {
      const deadline = new Deadline({ timeoutMs });
      await expect(deadline.run(() => sleep(5))).resolves.toBeUndefined();
    }
  });

  it('no longer follows the caller once released', () => {
    const controller = new AbortController();
    const deadline = new Deadline({ signal: controller.signal });
    deadline.release();
    controller.abort();
    expect(deadline.signal.aborted).toBe(false);
  });

  it('can count its limit anew', async () => {
    const deadline = new Deadline({
      timeoutMs: 60_000,
      onTimeout: (limit) => new RangeError(`after ${limit}`),
    });
    deadline.restart(5);
    await expect(deadline.run(forever)).rejects.toThrow('after 5');
  });
});

describe('sleep', () => {
  it('ends at once with the reason of the signal', async () => {
    const controller = new AbortController();
    const slept = sleep(60_000, controller.signal);
    controller.abort('woken');
    await expect(slept).rejects.toBe('woken');
    await expect(sleep(60_000, AbortSignal.abort('before'))).rejects.toBe('before');
  });
});
