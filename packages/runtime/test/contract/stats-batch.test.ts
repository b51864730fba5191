import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { DriverError } from '../../src/contract/errors.js';
import { StatsResponseSchema } from '../../src/gen/driver/driver_pb.js';
import { StatsBatch } from '../../src/remote/stats-batch.js';

/** A driver whose instances use as many processes as their handle says; `ended` has ended. */
function batch(answered = Number.POSITIVE_INFINITY) {
  const calls: string[][] = [];
  const stats = new StatsBatch(async (handles) => {
    calls.push(handles);
    const outcomes = handles.slice(0, answered).map((handle) =>
      handle === 'ended'
        ? {
            outcome: { case: 'failure' as const, value: { code: 'instance_gone', message: 'It has ended.' } },
          }
        : { outcome: { case: 'stats' as const, value: { pids: Number(handle) } } },
    );
    return create(StatsResponseSchema, { outcomes });
  });
  return { stats, calls };
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'none',
    (error: unknown) => (DriverError.is(error) ? error.code : String(error)),
  );

describe('what instances use', () => {
  it('is asked for in one call for all that are asked for at once, at most 64', async () => {
    const { stats, calls } = batch();
    const asked = Array.from({ length: 65 }, (_, index) => stats.of(String(index)));
    expect((await Promise.all(asked)).map(({ pids }) => pids)).toEqual(asked.map((_, index) => index));
    expect(calls.map((handles) => handles.length)).toEqual([64, 1]);
  });

  it('fails for the one that has ended alone', async () => {
    const { stats } = batch();
    const [one, ended, two] = [stats.of('1'), stats.of('ended'), stats.of('2')];
    expect(await codeOf(ended)).toBe('instance_gone');
    expect([(await one).pids, (await two).pids]).toEqual([1, 2]);
  });

  it('fails for those that the other side left out', async () => {
    const { stats } = batch(1);
    const [one, two] = [stats.of('1'), stats.of('2')];
    expect((await one).pids).toBe(1);
    expect(await codeOf(two)).toBe('unreachable');
  });

  it('fails for all when the call fails', async () => {
    const stats = new StatsBatch(() => Promise.reject(new DriverError('closed', 'It is over.')));
    expect(await Promise.all([codeOf(stats.of('1')), codeOf(stats.of('2'))])).toEqual(['closed', 'closed']);
  });
});
