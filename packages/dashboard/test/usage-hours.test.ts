import { expect, it } from 'vitest';
import { formatAxis } from '../src/format/times.js';
import { usageLines } from '../src/format/usage-hours.js';

const HOUR = 3_600_000;
const DAY = Date.UTC(2026, 10, 25);

const row = (hour: number) => ({
  hour: new Date(DAY + hour * HOUR),
  sandboxSeconds: 7_200,
  memoryGiBSeconds: 3_600,
  egressBytes: 5,
  creates: 3,
});

it('has a point for each hour of a span, with averages of each', () => {
  const { sandboxes, memory, egress, creates } = usageLines([row(1), row(3)], DAY, DAY + 4 * HOUR);
  expect(sandboxes.map(({ value }) => value)).toEqual([0, 2, 0, 2]);
  expect(memory.map(({ value }) => value)).toEqual([0, 2 ** 30, 0, 2 ** 30]);
  expect(egress.map(({ value }) => value)).toEqual([0, 5, 0, 5]);
  expect(creates.map(({ value }) => value)).toEqual([0, 3, 0, 3]);
  expect(creates.map(({ at }) => at)).toEqual([0, 1, 2, 3].map((hour) => DAY + hour * HOUR));
});

it('begins with the first whole hour, and takes the average of the last one over what of it is over', () => {
  const { sandboxes } = usageLines([row(1)], DAY + 1, DAY + 1.5 * HOUR);
  expect(sandboxes).toEqual([{ at: DAY + HOUR, value: 4 }]);
  // Of less than a second of an hour nothing is made more.
  expect(usageLines([row(1)], DAY + HOUR, DAY + HOUR + 1).sandboxes[0]?.value).toBe(7_200);
});

it('names the day under plots of many hours', () => {
  const time = new Date(2026, 10, 25, 17, 5, 9);
  expect([formatAxis(time, HOUR), formatAxis(time, 24 * HOUR)]).toEqual(['17:05:09', '11-25 17:05']);
});
