import type { RefusedPackets } from '@svc/runtime/contract';
import { describe, expect, it } from 'vitest';
import { RareReports, RefusedDelta } from '../../src/network/egress/packet-deltas.js';

const AT = new Date(1_000);
const counted = (instanceId: string, reason: string, packets: number): RefusedPackets => ({
  instanceId,
  reason,
  packets,
});

describe('what the network refused', () => {
  it('is reported as far as it is new, and not what was counted before the server started', () => {
    const refusals = new RefusedDelta();
    const take = (...counts: RefusedPackets[]) =>
      refusals.take(counts, AT).map(({ sandboxId, rule, attempts }) => `${sandboxId} ${rule} ${attempts}`);
    expect(take(counted('a', 'not TCP', 5))).toEqual([]);
    expect(take(counted('a', 'not TCP', 5))).toEqual([]);
    expect(take(counted('a', 'not TCP', 7), counted('b', 'not TCP', 1))).toEqual([
      'a not TCP 2',
      'b not TCP 1',
    ]);
    // Of an instance that was made anew the counts begin anew.
    expect(take(counted('a', 'not TCP', 3))).toEqual(['a not TCP 3']);
    expect(take()).toEqual([]);
    expect(take(counted('a', 'not TCP', 3), counted('a', 'private range', 1))).toEqual([
      'a not TCP 3',
      'a private range 1',
    ]);
  });

  it('is logged once a minute for each reason, with all that came meanwhile', () => {
    const refusals = new RefusedDelta();
    refusals.take([], AT);
    const rare = new RareReports(60_000);
    let packets = 0;
    const at = (nowMs: number, more: number) => {
      packets += more;
      const reports = refusals.take([counted('a', 'not TCP', packets)], AT);
      return rare.pick(reports, nowMs).map(({ attempts }) => attempts);
    };
    expect(at(0, 2)).toEqual([2]);
    expect(at(10_000, 3)).toEqual([]);
    expect(at(59_999, 1)).toEqual([]);
    expect(at(60_000, 1)).toEqual([5]);
    expect(at(61_000, 0)).toEqual([]);
    expect(at(200_000, 1)).toEqual([1]);
  });
});
