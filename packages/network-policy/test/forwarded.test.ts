import { describe, expect, it } from 'vitest';
import { parseAddress } from '../src/addresses.js';
import { compilePolicy } from '../src/compile.js';
import { deniedRangeOf } from '../src/denied-ranges.js';
import { type ForwardedDestinations, forwardedOf } from '../src/forwarded.js';
import type { EgressPolicy } from '../src/policy.js';

const policyOf = (policy: Partial<EgressPolicy>): EgressPolicy => ({
  allowOut: [],
  denyOut: [],
  rules: {},
  ...policy,
});
const headers = { 'a.example': { headers: { 'x-key': 'value' } } };
const text = ({ ranges, exceptPorts }: ForwardedDestinations) =>
  [...ranges.map(({ first, last }) => `${first}-${last}`), ...exceptPorts.map((port) => `!${port}`)].join(
    ' ',
  );

describe('what can be forwarded without being read', () => {
  it.each<[string, Partial<EgressPolicy>, string]>([
    ['everything', {}, '0.0.0.0-255.255.255.255'],
    ['all but a range', { denyOut: ['1.2.3.0/24'] }, '0.0.0.0-1.2.2.255 1.2.4.0-255.255.255.255'],
    ['ranges at the ends', { denyOut: ['0.0.0.0/8', '255.0.0.0/8'] }, '1.0.0.0-254.255.255.255'],
    ['one range', { denyOut: ['0.0.0.0/0'], allowOut: ['8.8.8.0/24'] }, '8.8.8.0-8.8.8.255'],
    [
      'ranges that touch and overlap',
      { denyOut: ['0.0.0.0/0'], allowOut: ['8.8.9.0/24', '8.8.8.0/24', '8.8.8.8'] },
      '8.8.8.0-8.8.9.255',
    ],
    [
      'an allowed part of a denied range',
      { denyOut: ['8.0.0.0/8'], allowOut: ['8.8.8.8'] },
      '0.0.0.0-7.255.255.255 8.8.8.8-8.8.8.8 9.0.0.0-255.255.255.255',
    ],
    ['nothing of names', { denyOut: ['0.0.0.0/0'], allowOut: ['a.example'] }, '!80 !443'],
    [
      'addresses beside names, at ports that tell none',
      { denyOut: ['0.0.0.0/0'], allowOut: ['a.example', '8.8.8.8'] },
      '8.8.8.8-8.8.8.8 !80 !443',
    ],
    ['other ports than those of rules', { rules: headers }, '0.0.0.0-255.255.255.255 !80 !443'],
    ['nothing of IPv6', { denyOut: ['0.0.0.0/0'], allowOut: ['2001:db8::/32'] }, ''],
    ['nothing where a proxy is', { proxy: { address: 'proxy.example:1080' } }, ''],
    [
      'nothing of a policy with very many ranges',
      { denyOut: Array.from({ length: 300 }, (_, index) => `20.${index >> 8}.${index & 255}.7`) },
      '',
    ],
  ])('%s', (_, policy, expected) => {
    expect(text(forwardedOf(policyOf(policy)))).toBe(expected);
  });

  it('is exactly what is allowed whatever the host, of any policy', () => {
    const random = randomNumbers(14);
    const pick = <T>(items: readonly T[]): T => items[random(items.length)]!;
    const entries = (count: number) => Array.from({ length: random(count) }, () => randomRange(random));
    const hosts = [undefined, 'a.example', 'b.a.example', 'other.example'];
    let [forwarded, read] = [0, 0];
    for (let round = 0; round < 400; round += 1) {
      const names = random(3) === 0 ? [pick(['a.example', '*.a.example', '*'])] : [];
      const policy = policyOf({
        allowOut: [...entries(5), ...names].sort(() => random(3) - 1),
        denyOut: random(2) === 0 ? ['0.0.0.0/0', ...entries(3)] : entries(6),
        ...(random(4) === 0 ? { rules: headers } : {}),
      });
      const { decide } = compilePolicy(policy);
      const plan = forwardedOf(policy);
      const edges = plan.ranges.flatMap(({ first, last }) => [
        number(first) - 1,
        number(first),
        number(last),
        number(last) + 1,
      ]);
      const others = Array.from({ length: 20 }, () => random(2 ** 32));
      for (const value of [...edges, ...others].filter((each) => each >= 0 && each < 2 ** 32)) {
        const address = dotted(value);
        if (deniedRangeOf(parseAddress(address)!) !== undefined) continue;
        for (const port of [22, 80, 443, 8443]) {
          const inPlan =
            !plan.exceptPorts.includes(port) &&
            plan.ranges.some(({ first, last }) => number(first) <= value && value <= number(last));
          const decisions = hosts.map((host) =>
            decide({ address, port, ...(host === undefined ? {} : { host }) }),
          );
          const plain = decisions.every(
            ({ allowed, dial, transform }) => allowed && dial === 'address' && transform === undefined,
          );
          const named = policy.rules['a.example'] !== undefined || names.length > 0;
          const expected = plain && !(named && [80, 443].includes(port));
          expect(inPlan, `${JSON.stringify(policy)} ${address}:${port}`).toBe(expected);
          if (inPlan) forwarded += 1;
          else read += 1;
        }
      }
    }
    expect(Math.min(forwarded, read)).toBeGreaterThan(1_000);
  });
});

function randomRange(random: (below: number) => number): string {
  // Few first octets, so that ranges meet.
  const address = `${8 + random(3)}.${random(4) * 64}.${random(256)}.${random(256)}`;
  return random(4) === 0 ? address : `${address}/${random(33)}`;
}

/** The same numbers each time. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function number(address: string): number {
  return Number(parseAddress(address)!.value);
}

function dotted(value: number): string {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');
}
