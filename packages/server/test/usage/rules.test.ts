import { describe, expect, it } from 'vitest';
import { SentDelta } from '../../src/network/egress/packet-deltas.js';
import { byHour, UsageMeter } from '../../src/teams/usage/usage-meter.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe('a span of time', () => {
  it('is cut at whole hours, and nothing of it is lost', () => {
    expect(byHour(0, 0)).toEqual([]);
    expect(byHour(HOUR, HOUR - 1)).toEqual([]);
    expect(byHour(10, 20)).toEqual([{ hourMs: 0, ms: 10 }]);
    expect(byHour(HOUR - 1, 3 * HOUR + 5)).toEqual([
      { hourMs: 0, ms: 1 },
      { hourMs: HOUR, ms: HOUR },
      { hourMs: 2 * HOUR, ms: HOUR },
      { hourMs: 3 * HOUR, ms: 5 },
    ]);
  });
});

describe('what is new of the bytes that a driver counted', () => {
  const counts = (bytes: Record<string, number>) =>
    Object.entries(bytes).map(([instanceId, each]) => ({ instanceId, bytes: each }));

  it('is nothing at first, then what came since, and all of a counter that began anew', () => {
    const fresh = new SentDelta();
    expect(fresh.take(counts({ a: 100, b: 50 }))).toEqual([]);
    expect(fresh.take(counts({ a: 130, b: 50, c: 7 }))).toEqual(counts({ a: 30, c: 7 }));
    expect(fresh.take(counts({ a: 20 }))).toEqual(counts({ a: 20 }));
    expect(fresh.take(counts({ a: 20, c: 3 }))).toEqual(counts({ c: 3 }));
  });

  it('is nothing of what there was when nothing was there at first', () => {
    const fresh = new SentDelta();
    expect(fresh.take([])).toEqual([]);
    expect(fresh.take(counts({ a: 5 }))).toEqual(counts({ a: 5 }));
  });
});

describe('the meter', () => {
  const meterAt = () => {
    let now = 10 * HOUR;
    const meter = new UsageMeter(() => now);
    return { meter, pass: (ms: number) => (now += ms) };
  };
  const a = { id: 'a', teamId: 'one', memoryMiB: 512 };

  it('counts a sandbox from its beginning to its end, however often it is looked at', () => {
    const { meter, pass } = meterAt();
    meter.created('one');
    meter.runs(a);
    pass(MINUTE);
    meter.look([a]);
    meter.look([a]);
    pass(MINUTE);
    meter.ended('a');
    meter.ended('a');
    pass(HOUR);
    meter.look([]);
    expect(meter.take()).toEqual([
      {
        ...{ teamId: 'one', hourMs: 10 * HOUR, creates: 1, egressBytes: 0 },
        ...{ sandboxMs: 2 * MINUTE, memoryMibMs: 2 * MINUTE * 512 },
      },
    ]);
    expect(meter.take()).toEqual([]);
  });

  it('counts each hour and team by itself', () => {
    const { meter, pass } = meterAt();
    pass(HOUR - MINUTE);
    meter.look([a, { ...a, id: 'b', teamId: 'two' }]);
    pass(2 * MINUTE);
    meter.look([a, { ...a, id: 'b', teamId: 'two' }]);
    meter.sent('two', 100);
    meter.sent('two', 0);
    const hours = meter.take();
    expect(hours.map(({ teamId, hourMs, sandboxMs }) => [teamId, hourMs / HOUR, sandboxMs])).toEqual([
      ['one', 10, MINUTE],
      ['one', 11, MINUTE],
      ['two', 10, MINUTE],
      ['two', 11, MINUTE],
    ]);
    expect(hours.at(-1)).toMatchObject({ egressBytes: 100, creates: 0 });
  });

  it('does not count what ended without a report, nor twice when the clock is set back', () => {
    const { meter, pass } = meterAt();
    meter.runs(a);
    pass(MINUTE);
    meter.look([]);
    expect(meter.take()).toEqual([]);
    meter.runs(a);
    pass(MINUTE);
    meter.look([a]);
    pass(-MINUTE);
    meter.look([a]);
    pass(MINUTE);
    meter.look([a]);
    expect(meter.take()).toMatchObject([{ sandboxMs: MINUTE }]);
  });

  it('knows for a while whose a sandbox was that ended, however it ended', () => {
    const { meter, pass } = meterAt();
    meter.runs(a);
    meter.runs({ ...a, id: 'b', teamId: 'two' });
    expect(['a', 'b', 'c'].map((id) => meter.teamOf(id))).toEqual(['one', 'two', undefined]);
    meter.ended('a');
    meter.look([]);
    expect(['a', 'b'].map((id) => meter.teamOf(id))).toEqual(['one', 'two']);
    pass(4 * MINUTE);
    meter.look([]);
    expect(['a', 'b'].map((id) => meter.teamOf(id))).toEqual(['one', 'two']);
    pass(2 * MINUTE);
    meter.look([]);
    expect(['a', 'b'].map((id) => meter.teamOf(id))).toEqual([undefined, undefined]);
  });

  it('knows whose an instance is that is no sandbox, and counts nothing but what it sends', () => {
    const { meter, pass } = meterAt();
    meter.sends('build', 'one');
    pass(MINUTE);
    meter.look([]);
    expect(meter.teamOf('build')).toBe('one');
    meter.sendsNoMore('build');
    meter.sendsNoMore('unknown');
    expect(meter.teamOf('build')).toBe('one');
    pass(6 * MINUTE);
    meter.look([]);
    expect([meter.teamOf('build'), meter.teamOf('unknown')]).toEqual([undefined, undefined]);
    expect(meter.take()).toEqual([]);
  });

  it('takes back what could not be written', () => {
    const { meter } = meterAt();
    meter.created('one');
    const hours = meter.take();
    meter.created('one');
    meter.giveBack(hours);
    expect(meter.take()).toMatchObject([{ creates: 2 }]);
  });
});
