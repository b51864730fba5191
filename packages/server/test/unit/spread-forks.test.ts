import { describe, expect, it } from 'vitest';
import { spreadForks } from '../../src/cluster/fleet/spread-forks.js';
import type { Place } from '../../src/cluster/nodes/order-places.js';

const place = (nodeId: string, running: number, maxSandboxes = 10): Place => ({
  ...{ nodeId, here: false, drained: false, sent: 0 },
  report: {
    ...{ version: '0', driver: 'linux', running, maxSandboxes, pooled: 0, cpuCount: 4, load: 0 },
    ...{ memoryFreeMiB: 8_000, memoryTotalMiB: 10_000, diskFreeMiB: 1_000 },
  },
});

describe('forks that other nodes are to start', () => {
  it.each([
    ['one on the emptiest', 1, [place('a', 3), place('b', 1)], { b: 1 }],
    ['evenly over equal ones', 4, [place('a', 1), place('b', 1)], { a: 2, b: 2 }],
    ['more on one with more room', 4, [place('a', 9), place('b', 0)], { a: 1, b: 3 }],
    ['none without nodes', 3, [], {}],
    ['none for none', 0, [place('a', 0)], {}],
    ['on four at most', 8, ['a', 'b', 'c', 'd', 'e'].map((id) => place(id, 0)), { a: 2, b: 2, c: 2, d: 2 }],
  ])('go %s', (_, count, places, expected) => {
    const counts = spreadForks(count, places, 512);
    expect([...counts.values()].reduce((sum, each) => sum + each, 0)).toBe(places.length === 0 ? 0 : count);
    if (_ !== 'more on one with more room') expect(Object.fromEntries(counts)).toEqual(expected);
    else expect(counts.get('b')!).toBeGreaterThan(counts.get('a') ?? 0);
  });

  it('leave what was known of the places as it was', () => {
    const places = [place('a', 0)];
    spreadForks(3, places, 512);
    expect(places[0]!.sent).toBe(0);
  });
});
