import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { forwardRules, withdrawRules } from '../../src/linux-driver/network/forward-rules.js';
import { requireDestinations } from '../../src/linux-driver/network/ranges.js';
import { readForwarded } from '../../src/linux-driver/network/read-counters.js';
import { withdrawnFilter } from '../../src/linux-driver/network/withdrawn.js';
import { assetPath } from '../../src/shared/assets.js';
import { runProgram } from '../../src/shared/run-program.js';

const folder = mkdtempSync(join(tmpdir(), 'svc-forwarded-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The most characters that a script may print about one sandbox. */
const TEXT_LIMIT = 16 * 1024;
const plan = (text: string, ...exceptPorts: number[]) => ({
  ranges: text
    .split(' ')
    .filter(Boolean)
    .map((range) => {
      const [first, last] = range.split('-') as [string, string | undefined];
      return { first, last: last ?? first };
    }),
  exceptPorts,
});

describe('connections that are forwarded no longer', () => {
  it.each([
    ['none while nothing was', undefined, plan('1.2.3.4'), undefined],
    ['none when it is the same', plan('1.2.3.4'), plan('1.2.3.4'), undefined],
    ['none when it becomes more', plan('1.2.3.4', 80, 443), plan('1.2.3.0-1.2.3.255'), undefined],
    [
      'all that were',
      plan('1.2.3.4 8.0.0.0-8.0.255.255'),
      undefined,
      '( ( dst 1.2.3.4/32 or dst 8.0.0.0/16 ) )',
    ],
    ['everything', plan('0.0.0.0-255.255.255.255'), plan(''), '( ( dst 0.0.0.0/0 ) )'],
    [
      'the upper half',
      plan('0.0.0.0-255.255.255.255'),
      plan('0.0.0.0-127.255.255.255'),
      '( ( dst 128.0.0.0/1 ) )',
    ],
    [
      'what lies between',
      plan('1.0.0.0-1.0.0.9'),
      plan('1.0.0.2-1.0.0.3 1.0.0.8'),
      '( ( dst 1.0.0.0/31 or dst 1.0.0.4/30 or dst 1.0.0.9/32 ) )',
    ],
    [
      'ports that are read from now on',
      plan('1.2.3.4'),
      plan('1.2.3.4', 80, 443),
      '( ( dst 1.2.3.4/32 ) and dport = :80 ) or ( ( dst 1.2.3.4/32 ) and dport = :443 )',
    ],
    [
      'other ports than those that were read',
      plan('1.2.3.4', 80, 443),
      plan('', 80, 443),
      '( ( dst 1.2.3.4/32 ) and dport != :80 and dport != :443 )',
    ],
  ])('are %s', (_, before, now, expected) => {
    expect(withdrawnFilter(before, now)).toBe(expected);
  });

  it('are all of a port where they would be too many prefixes', () => {
    const many = plan(Array.from({ length: 201 }, (_, index) => `9.0.${index}.1`).join(' '), 80);
    expect(withdrawnFilter(many, plan('', 80))).toBe('( dport != :80 )');
    expect(withdrawnFilter({ ...many, exceptPorts: [] }, plan(''))).toBe('( dst 0.0.0.0/0 )');
  });
});

describe('what is to be forwarded', () => {
  it.each([
    ['two ranges in their order', plan('0.0.0.0-1.2.3.4 1.2.3.6-255.255.255.255', 80), undefined],
    ['ranges that touch', plan('1.2.3.4-1.2.3.5 1.2.3.5'), /out of order/],
    ['a range from its end', plan('1.2.3.5-1.2.3.4'), /out of order/],
    ['words for nft', plan('1.2.3.4}-1.2.3.5'), /no IPv4 addresses/],
    ['IPv6', plan('::1-::2'), /no IPv4 addresses/],
    ['a port that is none', plan('1.2.3.4', 65_536), /65536 is no port/],
    ['very many ranges', plan('1.2.3.4 '.repeat(257)), /At most 256 ranges/],
  ])('may be %s or not', (_, destinations, problem) => {
    if (problem === undefined) expect(() => requireDestinations(destinations)).not.toThrow();
    else expect(() => requireDestinations(destinations)).toThrow(problem);
  });

  it('holds for the pair of that moment, and leaves read ports alone', () => {
    const rules = forwardRules(7, plan('1.2.3.4 8.0.0.0-8.0.0.9', 80, 443));
    expect(rules).toContain('iif != "s7" return');
    expect(rules).toContain('oif != "s7" return');
    expect(rules).toContain('tcp dport { 80, 443 } return');
    expect(rules).toContain('ip saddr != { 1.2.3.4-1.2.3.4, 8.0.0.0-8.0.0.9 } return');
    expect(rules.match(/flush chain/g)).toHaveLength(2);
    expect(forwardRules(7, plan(''))).not.toMatch(/ip [ds]addr !=/);
    // Everything that is made can be taken away again.
    const made = [...rules.matchAll(/^add (set|chain) inet sandboxes (\w+)/gm)].map(([, , name]) => name);
    for (const name of made)
      expect(withdrawRules(7)).toMatch(new RegExp(`^delete \\w+ inet sandboxes ${name}$`, 'm'));
  });
});

it('reads what was forwarded of as many sandboxes as are asked for at once', async () => {
  const places = Array.from(
    { length: 128 },
    (_, index) => `${200 + (index % 50)}.100.100.${100 + index} . ${60_000 + index}`,
  );
  const counted = (bytes: number) =>
    places
      .map((place) => `${place} counter packets 123456 bytes ${bytes} expires 59m59s984ms`)
      .join(',\n\t\t\t     ');
  const set = (name: string, elements: string) =>
    `\tset ${name} {\n\t\ttype ipv4_addr . inet_service\n\t\tsize 128\n\t\telements = { ${elements} }\n\t}\n`;
  const leases = Array.from({ length: 16 }, (_, index) => 1_000 + index);
  const sets = [...leases, 2_000].map(
    (lease) =>
      set(`opened_${lease}`, counted(60)) +
      set(`sent_${lease}`, counted(123_456_789_012)) +
      set(`received_${lease}`, counted(123_456_789_013)) +
      `\tset others_${lease} {\n\t\ttype ct_dir\n\t\telements = { original counter packets 2 bytes 30, reply counter packets 3 bytes 40 }\n\t}\n`,
  );
  const other =
    '\tset refused_foreign {\n\t\ttype iface_index\n\t\telements = { "s1000" counter packets 5 bytes 7 }\n\t}\n';
  writeFileSync(join(folder, 'sets'), `table inet sandboxes {\n${sets.join('')}${other}}\n`);
  const { stdout } = await runProgram('sh', [
    '-euc',
    `ip() { cat ${folder}/sets; }; . ${assetPath('functions/network.sh')}; network_forwarded ${leases.join(' ')}`,
  ]);
  expect(stdout.length).toBeLessThan(16 * TEXT_LIMIT);
  const traffic = readForwarded(Object.fromEntries(stdout.split('\n').map((line) => line.split('='))));
  expect(traffic).toHaveLength(16 * 129);
  expect(new Set(traffic.map(({ lease }) => lease))).toEqual(new Set(leases));
  expect(traffic.find(({ lease, port }) => lease === 1_015 && port === 60_003)).toEqual({
    ...{ lease: 1_015, address: '203.100.100.103', port: 60_003 },
    ...{ connections: 123_456, bytesSent: 123_456_789_012, bytesReceived: 123_456_789_013 },
  });
  expect(traffic.find(({ lease, port }) => lease === 1_000 && port === 0)).toEqual({
    ...{ lease: 1_000, port: 0, connections: 0, bytesSent: 30, bytesReceived: 40 },
  });
});
