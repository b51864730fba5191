import { describe, expect, it } from 'vitest';
import { orderPlaces, type Place } from '../../src/cluster/nodes/order-places.js';
import type { NodeReport } from '../../src/storage/json-shapes.js';

const report = (more: Partial<NodeReport> = {}): NodeReport => ({
  version: '1.0.0',
  driver: 'linux',
  running: 10,
  maxSandboxes: 1000,
  pooled: 0,
  cpuCount: 8,
  load: 2,
  memoryFreeMiB: 32_000,
  memoryTotalMiB: 64_000,
  diskFreeMiB: 100_000,
  ...more,
});
const place = (nodeId: string, more: Partial<NodeReport> | null = {}, how: Partial<Place> = {}): Place => ({
  ...{ nodeId, here: false, drained: false, sent: 0 },
  report: more === null ? undefined : report(more),
  ...how,
});
const need = { memoryMiB: 1024, pooled: true };

describe('nodes for a new sandbox', () => {
  it.each<[string, Place[], string[]]>([
    ['none', [], []],
    ['equal ones by name', [place('b'), place('a')], ['a', 'b']],
    ['the one that was asked before equal ones', [place('a'), place('b', {}, { here: true })], ['b', 'a']],
    ['the one with more free memory', [place('a'), place('b', { memoryFreeMiB: 60_000 })], ['b', 'a']],
    ['the one with idle processors', [place('a', { load: 8 }), place('b')], ['b', 'a']],
    [
      'not more load than processors counts',
      [place('a', { load: 80, memoryFreeMiB: 40_000 }), place('b', { load: 8 })],
      ['a', 'b'],
    ],
    ['the one with fewer sandboxes', [place('a', { running: 90 }), place('b')], ['b', 'a']],
    [
      'a far emptier one before the one that was asked',
      [place('a', { running: 90 }, { here: true }), place('b')],
      ['b', 'a'],
    ],
    ['the one with a pool', [place('a'), place('b', { pooled: 2 })], ['b', 'a']],
    [
      'not a pool that is used up meanwhile',
      [place('a'), place('b', { pooled: 2 }, { sent: 2 })],
      ['a', 'b'],
    ],
    [
      'counts what was sent since the report',
      [place('a', {}, { sent: 40 }), place('b', { running: 30 })],
      ['b', 'a'],
    ],
    [
      'full ones last: as many as it may run',
      [place('a', { running: 1000 }), place('b', { load: 8 })],
      ['b', 'a'],
    ],
    [
      'full ones last: with those that were sent',
      [place('a', { maxSandboxes: 12 }, { sent: 2 }), place('b', { load: 8 })],
      ['b', 'a'],
    ],
    [
      'full ones last: no memory',
      [place('a', { memoryFreeMiB: 7_000 }), place('b', { load: 8 })],
      ['b', 'a'],
    ],
    [
      'no drained ones',
      [place('a', {}, { drained: true, here: true }), place('b', { running: 1000 })],
      ['b'],
    ],
    [
      'one that has told nothing yet, in between',
      [place('a', { load: 8, memoryFreeMiB: 10_000 }), place('b', null), place('c')],
      ['c', 'b', 'a'],
    ],
  ])('%s', (_what, places, order) => {
    expect(orderPlaces(places, need)).toEqual(order);
  });

  it('does not look at pools for what no pool has', () => {
    const places = [place('a'), place('b', { pooled: 2 })];
    expect(orderPlaces(places, { ...need, pooled: false })).toEqual(['a', 'b']);
  });

  it('wants no more than an eighth of a machine free for one sandbox', () => {
    const large = { memoryMiB: 60_000, pooled: false };
    expect(orderPlaces([place('a', { memoryFreeMiB: 15_000 }), place('b', { load: 8 })], large)).toEqual([
      'a',
      'b',
    ]);
  });
});
