import type { ForwardedTraffic } from '@svc/runtime/contract';
import { describe, expect, it } from 'vitest';
import { ForwardedDelta } from '../../src/network/egress/packet-deltas.js';

const AT = new Date(1_000);
const POLICY = { allowOut: ['9.9.9.0/24', '10.1.0.0/16'], denyOut: ['0.0.0.0/0'], rules: {} };
const to = (address: string | undefined, connections: number, bytes: number): ForwardedTraffic => ({
  ...{ instanceId: 'a', port: address === undefined ? 0 : 443, connections },
  ...(address === undefined ? {} : { address }),
  ...{ bytesSent: bytes, bytesReceived: 10 * bytes },
});

describe('what was forwarded', () => {
  it('is reported as far as it is new, with the rule that allows it, and not what was before the server started', () => {
    const forwarded = new ForwardedDelta({
      policyOf: (id) => (id === 'a' ? POLICY : undefined),
      allowRanges: ['10.1.0.0/16'],
    });
    const take = (...counts: ForwardedTraffic[]) =>
      forwarded
        .take(counts, AT)
        .map(
          ({ sandboxId, host, address, rule, attempts, bytesSent, bytesReceived }) =>
            `${sandboxId} ${host ?? address} (${rule}) ${attempts} ${bytesSent} ${bytesReceived}`,
        );
    expect(take(to('9.9.9.1', 5, 100))).toEqual([]);
    expect(take(to('9.9.9.1', 5, 100))).toEqual([]);
    expect(take(to('9.9.9.1', 5, 130), to('10.1.2.3', 1, 7))).toEqual([
      'a 9.9.9.1 (allowOut[0] 9.9.9.0/24) 0 30 300',
      'a 10.1.2.3 (allowOut[1] 10.1.0.0/16) 1 7 70',
    ]);
    // Where nothing was sent for an hour, the kernel counts anew.
    expect(take(to('9.9.9.1', 1, 40))).toEqual(['a 9.9.9.1 (allowOut[0] 9.9.9.0/24) 1 40 400']);
    expect(
      take(to(undefined, 0, 5), to('8.8.8.8', 1, 1), { ...to('9.9.9.9', 1, 1), instanceId: 'b' }),
    ).toEqual([
      'a (other) ((other)) 0 5 50',
      'a 8.8.8.8 (earlier settings) 1 1 10',
      'b 9.9.9.9 ((other)) 1 1 10',
    ]);
    expect(forwarded.take([to('9.9.9.1', 1, 1)], AT)[0]).toMatchObject({
      outcome: 'allowed',
      port: 443,
      at: AT,
    });
  });
});
