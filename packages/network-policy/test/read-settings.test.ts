import { BlockList, isIP } from 'node:net';
import { describe, expect, it } from 'vitest';
import { contains, formatRange, parseAddress, parseRange } from '../src/addresses.js';
import { compilePolicy, egressMode } from '../src/compile.js';
import { explainEgress } from '../src/explain.js';
import { forwardedOf } from '../src/forwarded.js';
import { type EgressSettings, PolicyError, readEgress } from '../src/index.js';
import { policyFromSettings } from '../src/read-settings.js';
import { generator, PROBES, randomSettings } from './support/random-settings.js';

const DENY = ['0.0.0.0/0'];
const ruleFor = (host: string) => ({ rules: { [host]: [{ transform: { headers: { 'x-a': 'b' } } }] } });
const read = (settings: EgressSettings) => {
  try {
    return readEgress(settings);
  } catch (error) {
    if (error instanceof PolicyError) return undefined;
    throw error;
  }
};

describe('network settings that the enforcing process could not read', () => {
  it.each<[EgressSettings, string]>([
    [
      { denyOut: ['10.0.0.0/08'] },
      "denyOut: '10.0.0.0/08' is not an IP address or CIDR range: write '10.0.0.0/8'",
    ],
    [{ denyOut: ['2001:db8::/032'] }, "write '2001:db8::/32', without leading zeros"],
    [{ denyOut: ['010.1.0.0/8'] }, "write '10.1.0.0/8', without leading zeros"],
    [{ denyOut: ['::ffff:1.2.3.4/10'] }, 'inside IPv6 is 96 to 128'],
    [{ denyOut: ['fe80::1%eth0'] }, "write it without its zone, 'fe80::1'"],
    [{ allowOut: ['fe80::1%eth0/64'] }, "'fe80::1%eth0/64'"],
    [{ denyOut: ['10.0.0.0/33'] }, 'the prefix is a number up to 32'],
    [{ denyOut: ['2001:db8::/129'] }, 'the prefix is a number up to 128'],
    [{ denyOut: ['10.0.0.0/'] }, "'10.0.0.0/'"],
    [{ denyOut: ['example.com'] }, "denyOut: 'example.com' is not an IP address or CIDR range"],
    [{ allowOut: ['https://a.example/x'], denyOut: DENY }, 'without scheme, port and path'],
    [{ allowOut: ['0.0.0.0/32'] }, "allowOut: '0.0.0.0/32' is not a destination"],
    [{ allowOut: ['0:0::0'] }, "allowOut: '0:0::0' is not a destination"],
    [{ allowOut: ['a.example'] }, "network.denyOut must contain '0.0.0.0/0'"],
    [ruleFor('203.0.113.7'), "rules: '203.0.113.7' is not a host name: write one, such as api.example.com"],
    [ruleFor('2001:db8::1'), "rules: '2001:db8::1' is not a host name"],
    [ruleFor('[::1]'), "rules: '[::1]' is not a host name"],
    [ruleFor('10.0.0.0/8'), 'addresses belong into allowOut'],
    [ruleFor('127.1'), "rules: '127.1' is not a host name"],
    [ruleFor('0x7f.0x1'), "rules: '0x7f.0x1' is not a host name"],
    [ruleFor('*'), 'write the domain, such as *.example.com'],
    [ruleFor('a.example.'), "write 'a.example'"],
    [ruleFor('bücher.example'), "write 'xn--bcher-kva.example'"],
    [ruleFor('a_b.example'), 'letters, digits, hyphens and dots'],
    [
      { rules: { ...ruleFor('a.example').rules, ...ruleFor('A.example').rules } },
      "'a.example' is there twice",
    ],
    [{ egressProxy: { address: '[fe80::1%eth0]:1080' } }, 'egressProxy.address must be host:port'],
    [{ egressProxy: { address: '2606:4700::1:1080' } }, 'egressProxy.address must be host:port'],
    [{ egressProxy: { address: '0x7f.1:1080' } }, 'egressProxy.address must be host:port'],
    [{ egressProxy: { address: 'proxy.example:0' } }, 'egressProxy.address must be host:port'],
  ])('are refused with what to write instead: %j', (settings, message) => {
    expect(() => readEgress(settings)).toThrow(PolicyError);
    expect(() => readEgress(settings)).toThrow(message);
  });

  it('are refused when they are too many or too long, whatever list they are in', () => {
    const names = (count: number) => Array.from({ length: count }, (_, n) => `a${n}.example`);
    expect(readEgress({ allowOut: names(1_000), denyOut: DENY }).allowOut).toHaveLength(1_000);
    expect(() => readEgress({ allowOut: names(600), denyOut: Array(401).fill('1.2.3.4') })).toThrow(
      '1001 entries together, of at most 1000',
    );
    expect(() => readEgress({ allowOut: [`${'a.'.repeat(150)}example`], denyOut: DENY })).toThrow(
      'is not an IP',
    );
    const started = performance.now();
    for (const entry of ['0:', '::', '1.', '0.', 'a.', '/', '%'])
      for (const list of ['allowOut', 'denyOut'])
        expect(() => readEgress({ [list]: [entry.repeat(2_000_000)] })).toThrow('is not an IP');
    // Nobody takes such texts apart, which would be half a second for each of their 56 megabytes.
    expect(performance.now() - started).toBeLessThan(10_000);
    const headers = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`x-${n}`, 'v'.repeat(2_048)]));
    const rules = Object.fromEntries(names(10).map((name) => [name, [{ transform: { headers } }]]));
    expect(() => readEgress({ rules })).toThrow(
      /outbound settings have \d+ bytes together, of at most 262144/,
    );
  });
});

describe('whatever network settings are accepted', () => {
  it('are enforced as they are explained, in one spelling that stays', () => {
    const random = generator(20_261_128);
    let accepted = 0;
    for (let round = 0; round < 4_000; round++) {
      const given = randomSettings(random);
      const settings = read(given);
      if (settings === undefined) continue;
      accepted += 1;
      const what = JSON.stringify(given);
      expect(readEgress(settings), what).toEqual(settings);
      const policy = policyFromSettings(settings);
      const compiled = compilePolicy(policy);
      expect(() => forwardedOf(policy), what).not.toThrow();
      const mode = egressMode(policy);
      for (const { host, address } of PROBES) {
        const { allowed, rule } = compiled.decide({ host, address, port: 443 });
        // Written as it was given it means the same.
        expect(
          compilePolicy(policyFromSettings(given)).decide({ host, address, port: 443 }).allowed,
          what,
        ).toBe(allowed);
        if (mode === 'none') expect(allowed, what).toBe(false);
        if (mode === 'internet') expect(allowed || rule.startsWith('private range'), what).toBe(true);
        const explained = explainEgress(policy, `https://${host}/`, { address });
        expect([explained.verdict, explained.rule], what).toEqual([allowed ? 'allowed' : 'denied', rule]);
        const { verdict } = explainEgress(policy, `https://${host}/`);
        if (verdict === 'allowed') expect(allowed || rule.startsWith('private range'), what).toBe(true);
        if (verdict === 'denied') expect(compiled.decideName(host).allowed, what).toBe(false);
      }
    }
    expect(accepted).toBeGreaterThan(500);
  });

  it('allow a name by the first entry that says so', () => {
    const random = generator(3);
    for (let round = 0; round < 2_000; round++) {
      const { allowOut = [] } = read({ allowOut: randomSettings(random).allowOut, denyOut: DENY }) ?? {};
      const compiled = compilePolicy(policyFromSettings({ allowOut, denyOut: DENY }));
      for (const { host } of PROBES) {
        const first = allowOut.findIndex(
          (entry) =>
            entry === '*' || entry === host || (entry.startsWith('*.') && host.endsWith(entry.slice(1))),
        );
        const { allowed, rule } = compiled.decideName(host);
        expect([allowed, rule]).toEqual(
          first < 0 ? [false, 'denyOut[0] 0.0.0.0/0'] : [true, `allowOut[${first}] ${allowOut[first]}`],
        );
      }
    }
  });

  it('name addresses in the spellings that Node takes for one, but for those with a zone', () => {
    const random = generator(11);
    for (let round = 0; round < 10_000; round++) {
      const { allowOut = [], denyOut = [] } = randomSettings(random);
      for (const [address = ''] of [...allowOut, ...denyOut].map((text) => text.split('/')))
        expect(parseAddress(address) !== undefined, address).toBe(
          isIP(address) > 0 && !address.includes('%'),
        );
    }
  });

  it("cover the addresses that Node's own reading of a range covers", () => {
    const random = generator(7);
    const probes = PROBES.map(({ address }) => address).filter((address) => !address.startsWith('::ffff:'));
    let inside = 0;
    for (let round = 0; round < 4_000; round++) {
      const text = randomSettings(random).denyOut?.[0];
      const range = text === undefined ? undefined : parseRange(text);
      const [address = '', bits = ''] = text?.split('/') ?? [];
      // Node has no prefix of no bits, and takes IPv4 inside IPv6 for IPv6.
      if (range === undefined || bits === '0' || (range.family === 4 && address.includes(':'))) continue;
      expect(parseRange(formatRange(range)), text).toEqual(range);
      const family = range.family === 4 ? 'ipv4' : 'ipv6';
      const list = new BlockList();
      list.addSubnet(address, Number(bits || (range.family === 4 ? 32 : 128)), family);
      for (const probe of probes.filter((each) => each.includes(':') === (family === 'ipv6'))) {
        const covered = contains(range, parseAddress(probe)!);
        if (covered) inside += 1;
        expect(covered, `${text} ${probe}`).toBe(list.check(probe, family));
      }
    }
    expect(inside).toBeGreaterThan(100);
  });
});
