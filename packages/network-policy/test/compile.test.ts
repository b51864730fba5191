import { describe, expect, it } from 'vitest';
import { compilePolicy, type EgressOptions, egressMode } from '../src/compile.js';
import type { EgressFlow, EgressPolicy } from '../src/policy.js';

const policyOf = (policy: Partial<EgressPolicy>): EgressPolicy => ({
  allowOut: [],
  denyOut: [],
  rules: {},
  ...policy,
});
const decideEgress = (policy: EgressPolicy, flow: EgressFlow, options?: EgressOptions) =>
  compilePolicy(policy, options).decide(flow);
const closed = (...allowOut: string[]) => policyOf({ allowOut, denyOut: ['0.0.0.0/0'] });

/** A connection to an address, and one to a public address under a name. */
const to = (address: string, port: number) => ({ address, port });
const named = (host: string, port: number) => ({ host, address: '9.9.9.9', port });
const DENIED = '-address denyOut[0] 0.0.0.0/0';

describe('the decision about a connection', () => {
  it.each<[string, EgressPolicy, { host?: string; address: string; port: number }, string]>([
    ['open to all', policyOf({}), to('8.8.8.8', 22), '+address default'],
    [
      'denied range',
      policyOf({ denyOut: ['1.0.0.0/8'] }),
      to('1.2.3.4', 80),
      '-address denyOut[0] 1.0.0.0/8',
    ],
    ['outside a denied range', policyOf({ denyOut: ['1.0.0.0/8'] }), to('2.2.3.4', 80), '+address default'],
    [
      'allowed range beats denied',
      closed('8.8.8.0/24'),
      to('8.8.8.8', 53),
      '+address allowOut[0] 8.8.8.0/24',
    ],
    [
      'allowed domain on TLS',
      closed('1.1.1.1', 'a.example'),
      named('a.example', 443),
      '+name allowOut[1] a.example',
    ],
    ['allowed domain on HTTP', closed('a.example'), named('A.Example.', 80), '+name allowOut[0] a.example'],
    ['a domain on another port', closed('a.example'), named('a.example', 8443), DENIED],
    ['no host', closed('a.example'), to('9.9.9.9', 443), DENIED],
    ['another host', closed('a.example'), named('b.example', 443), DENIED],
    ['a name that ends like it', closed('a.example'), named('xa.example', 443), DENIED],
    [
      'below a wildcard',
      closed('*.example.com'),
      named('a.b.example.com', 443),
      '+name allowOut[0] *.example.com',
    ],
    ["a wildcard's apex", closed('*.example.com'), named('example.com', 443), DENIED],
    ['every name', closed('*'), named('any.example', 443), '+name allowOut[0] *'],
    ['every name, but no name was told', closed('*'), named('9.9.9.9', 80), DENIED],
    [
      'an international name',
      closed('bücher.example'),
      named('xn--bcher-kva.example', 443),
      '+name allowOut[0] bücher.example',
    ],
    ['a private address', policyOf({}), to('10.0.0.1', 80), '-address private range 10.0.0.0/8'],
    [
      'a private address that is allowed',
      closed('10.0.0.1'),
      to('10.0.0.1', 80),
      '-address private range 10.0.0.0/8',
    ],
    [
      'a private address under an allowed name',
      closed('a.example'),
      { host: 'a.example', address: '192.168.1.1', port: 443 },
      '-address private range 192.168.0.0/16',
    ],
    [
      'cloud metadata',
      closed('169.254.169.254', '*'),
      to('169.254.169.254', 80),
      '-address private range 169.254.0.0/16',
    ],
    [
      'a private address inside IPv6',
      policyOf({}),
      to('::ffff:10.0.0.1', 80),
      '-address private range 10.0.0.0/8',
    ],
    [
      'a private address through NAT64',
      policyOf({}),
      to('64:ff9b::a00:1', 80),
      '-address private range 64:ff9b::/96',
    ],
    [
      'IPv6 that is denied',
      policyOf({ denyOut: ['2606::/16'] }),
      to('2606:4700::1', 443),
      '-address denyOut[0] 2606::/16',
    ],
    [
      'a rule is no grant',
      { ...closed(), rules: { 'a.example': { headers: { a: 'b' } } } },
      named('a.example', 443),
      DENIED,
    ],
    ['an address in octal', policyOf({}), to('010.0.0.1', 80), '-address not an address'],
  ])('%s', (_name, policy, flow, expected) => {
    const { allowed, dial, rule } = decideEgress(policy, flow);
    expect(`${allowed ? '+' : '-'}${dial} ${rule}`).toBe(expected);
  });

  it('lets the operator except ranges', () => {
    const flow = { address: '10.1.2.3', port: 80 };
    expect(decideEgress(policyOf({}), flow, { allowRanges: ['10.1.0.0/16'] }).allowed).toBe(true);
    expect(
      decideEgress(policyOf({}), { ...flow, address: '10.2.0.1' }, { allowRanges: ['10.1.0.0/16'] }).allowed,
    ).toBe(false);
    const compiled = compilePolicy(policyOf({}), { allowRanges: ['10.1.0.0/16'] });
    expect(['10.1.0.1', '127.0.0.1', '1.1.1.1', '0x7f.1'].map(compiled.deniedAfterDns)).toEqual([
      undefined,
      '127.0.0.0/8',
      undefined,
      'not an address',
    ]);
  });

  it.each([
    ['api.example.com', 'api.example.com'],
    ['API.example.com.', 'api.example.com'],
    ['x.api.example.com', '*.api.example.com'],
    ['x.y.example.com', '*.example.com'],
    ['example.com', undefined],
    ['api.example.org', undefined],
  ])('takes for %s the headers of %s', (host, key) => {
    const headers = { a: 'b' };
    const rules = {
      '*.example.com': { headers },
      'api.example.com': { headers },
      '*.api.example.com': { headers },
    };
    const policy = policyOf({ rules });
    expect(decideEgress(policy, { host, address: '9.9.9.9', port: 443 }).transform).toBe(key);
    expect(decideEgress(policy, { host, address: '9.9.9.9', port: 80 }).transform).toBe(key);
    expect(decideEgress(policy, { host, address: '9.9.9.9', port: 8080 }).transform).toBeUndefined();
  });

  it.each([
    [policyOf({}), 'a.example', '+default'],
    [policyOf({ denyOut: ['1.0.0.0/8'] }), 'a.example', '+default'],
    [closed('a.example'), 'a.example', '+allowOut[0] a.example'],
    [closed('a.example'), 'secret-in-a-name.evil.example', '-denyOut[0] 0.0.0.0/0'],
    [closed('1.1.1.1'), 'a.example', '-denyOut[0] 0.0.0.0/0'],
    [policyOf({ denyOut: ['9.9.9.9/0'] }), 'a.example', '-denyOut[0] 9.9.9.9/0'],
    [policyOf({}), 'a..example', '-not a host name'],
  ])('about a DNS query', (policy, name, expected) => {
    const { allowed, rule } = compilePolicy(policy).decideName(name);
    expect(`${allowed ? '+' : '-'}${rule}`).toBe(expected);
  });

  it.each([
    [policyOf({}), 'internet'],
    [policyOf({ allowOut: ['1.1.1.1'] }), 'internet'],
    [policyOf({ denyOut: ['1.1.1.1'] }), 'governed'],
    [policyOf({ rules: { a: { headers: {} } } }), 'governed'],
    [policyOf({ proxy: { address: 'p:1' } }), 'governed'],
    [closed(), 'none'],
    [closed('a.example'), 'governed'],
  ])('of %j needs the mode %s', (policy, mode) => {
    expect(egressMode(policy)).toBe(mode);
  });

  it.each([
    { allowOut: ['a b'] },
    { allowOut: ['010.0.0.1'] },
    { allowOut: ['0x7f.1'] },
    { allowOut: ['1.1.1.1/33'] },
    { denyOut: ['a.example'] },
    { denyOut: ['127.1'] },
    { rules: { '*': { headers: {} } } },
  ])('refuses the policy %j', (policy) => {
    expect(() => compilePolicy(policyOf(policy))).toThrow(/is not/);
  });
});
