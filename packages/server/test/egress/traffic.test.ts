import type { EgressReport } from '@svc/egress';
import { describe, expect, it } from 'vitest';
import { TrafficCounters, trafficToWire } from '../../src/network/egress/traffic.js';

const report = (more: Partial<EgressReport>): EgressReport => ({
  sandboxId: 'a',
  host: 'api.test',
  address: '9.9.9.9',
  port: 443,
  outcome: 'allowed',
  rule: 'allowOut[0] api.test',
  attempts: 1,
  bytesSent: 0,
  bytesReceived: 0,
  at: new Date(1_000),
  ...more,
});

describe('what left a sandbox', () => {
  it('is counted by destination, the last seen first', () => {
    const traffic = new TrafficCounters();
    traffic.add(report({}));
    traffic.add(report({ host: 'bad.test', outcome: 'denied', rule: 'denyOut[0] 0.0.0.0/0', attempts: 3 }));
    traffic.add(report({ attempts: 0, bytesSent: 10, bytesReceived: 20, at: new Date(2_000) }));
    traffic.add(report({ sandboxId: 'b' }));
    const counts = { allowed: 1, denied: 0, failed: 0, bytesSent: 10, bytesReceived: 20 };
    expect(trafficToWire(traffic.of('a'))).toEqual({
      totals: { ...counts, denied: 3 },
      destinations: [
        {
          ...counts,
          host: 'api.test',
          address: '9.9.9.9',
          port: 443,
          rule: 'allowOut[0] api.test',
          lastAt: expect.stringMatching(/^1970-01-01T00:00:02/),
        },
        expect.objectContaining({ host: 'bad.test', denied: 3, rule: 'denyOut[0] 0.0.0.0/0' }),
      ],
      dropped: 0,
    });
    expect(traffic.of('unknown').destinations).toEqual([]);
  });

  it('stays bounded for a sandbox that tries every name, and for any number of sandboxes', () => {
    const traffic = new TrafficCounters();
    for (let n = 0; n < 1_000; n += 1) traffic.add(report({ host: `n${n}.test`, outcome: 'denied' }));
    const { totals, destinations, dropped } = traffic.of('a');
    expect([totals.denied, destinations.length, dropped]).toEqual([1_000, 100, 900]);
    expect(destinations[0]?.host).toBe('n999.test');
    for (let n = 0; n < 3_000; n += 1) traffic.add(report({ sandboxId: `s${n}` }));
    expect(traffic.of('a').totals.denied).toBe(0);
    expect(traffic.of('s2999').totals.allowed).toBe(1);
    expect(traffic.totals).toMatchObject({ allowed: 3_000, denied: 1_000 });
  });
});
