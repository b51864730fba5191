import { describe, expect, it } from 'vitest';
import { egressUser } from '../../src/host/egress-user.js';
import { gatewayRules, hostRules } from '../../src/linux-driver/network/nft-rules.js';
import { requireRanges } from '../../src/linux-driver/network/ranges.js';

describe('ranges that an operator allows', () => {
  it.each(['10.0.0.0/8', '10.1.2.3/32', '0.0.0.0/0'])('may be %s', (range) => {
    expect(() => requireRanges([range])).not.toThrow();
  });

  it.each(
    [
      [
        '10.0.0.1',
        '10.0.0.0/33',
        '10.0.0/8',
        '::1/128',
        'mirror.test',
        '',
        '/8',
        '10.0.0.0/8/8',
        '10.0.0.0/08',
        '010.0.0.0/8',
      ],
      [
        '10.0.0.0/8 }; flush ruleset; #',
        '10.0.0.0/8\n',
        ' 10.0.0.0/8',
        '10.0.0.0/+8',
        '10.0.0.0/8, 0.0.0.0/0',
      ],
    ].flat(),
  )('may not be %j, for they become rules of the host word for word', (range) => {
    expect(() => requireRanges([range])).toThrow('no range of IPv4 addresses');
  });

  it('stand in the rules of the gateway and of the host', () => {
    const block = '10.200.0.0/20';
    const common = { block, allowRanges: ['10.77.0.0/24'] };
    const limits = { perSandbox: 10, total: 100 };
    const host = { table: 'svc_0', link: 'svc0', outward: undefined };
    for (const rules of [
      gatewayRules({ ...common, limits, proxied: true }),
      hostRules({ ...common, ...host }),
    ])
      expect(rules).toMatch(/set excepted \{.*elements = \{ 10\.77\.0\.0\/24 \} \}/);
  });
});

describe('the user of the egress process', () => {
  it('is the system user made for it, and never root or a name that only resembles it', () => {
    expect(egressUser('root:x:0:0::/:/bin/sh\nsvc-egress:x:997:996::/nonexistent:/usr/sbin/nologin\n')).toBe(
      997,
    );
    for (const passwd of ['', 'svc-egress:x:0:0::/:/bin/sh', 'svc-egress2:x:5:5::/:/bin/sh', 'svc-egress'])
      expect(egressUser(passwd)).toBe(64_953);
  });
});
