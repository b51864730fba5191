import { Semaphore } from '@svc/support/semaphore';
import { describe, expect, it } from 'vitest';
import { gate } from './gate.js';

describe('the semaphore', () => {
  it('never lets more in than allowed and survives failures', async () => {
    const semaphore = new Semaphore(2);
    let inside = 0;
    let most = 0;
    const tasks = Array.from({ length: 10 }, (_, i) =>
      semaphore.run(async () => {
        inside += 1;
        most = Math.max(most, inside);
        await new Promise(setImmediate);
        inside -= 1;
        if (i % 3 === 0) throw new Error('broken');
      }),
    );
    await Promise.allSettled(tasks);
    expect(most).toBe(2);
    expect(await semaphore.run(async () => 'free')).toBe('free');
  });

  it('has as many places as it says, and gives them to who waits first', async () => {
    const places = new Semaphore(2);
    const gates = [gate(), gate(), gate(), gate()];
    const begun: number[] = [];
    const work = gates.map(({ opened }, index) =>
      places.run(async () => {
        begun.push(index);
        await opened;
        if (index === 0) throw new Error('failed');
      }),
    );
    const failed = expect(work[0]).rejects.toThrow('failed');
    await Promise.resolve();
    expect(begun).toEqual([0, 1]);
    gates[0]!.open();
    await failed;
    gates[1]!.open();
    await work[1];
    expect(begun).toEqual([0, 1, 2, 3]);
    gates[2]!.open();
    gates[3]!.open();
    await Promise.all(work.slice(1));
    await places.run(async () => begun.push(4));
    expect(begun).toEqual([0, 1, 2, 3, 4]);
  });
});
