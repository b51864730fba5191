import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { readSent } from '../../src/linux-driver/network/read-counters.js';
import { SentTotals } from '../../src/linux-driver/network/sent-totals.js';
import { assetPath } from '../../src/shared/assets.js';
import { runProgram } from '../../src/shared/run-program.js';

/** As nft prints it. */
const listing = (elements: string) =>
  `table inet sandboxes {\n\tset sent {\n\t\ttype ipv4_addr\n\t\tsize 4096\n\t\tflags dynamic,timeout\n\t\ttimeout 6h\n${elements}\t}\n}\n`;

it.each([
  ['none', '', []],
  [
    'some',
    '\t\telements = { 10.200.0.6 counter packets 12 bytes 912 expires 5h59m59s, 10.200.0.10 counter packets 1 bytes 60 expires 1s,\n\t\t\t     10.200.15.254 counter packets 9 bytes 9007199254740991 expires 3h }\n',
    [
      { lease: 1, bytes: 912 },
      { lease: 2, bytes: 60 },
      { lease: 1023, bytes: 9_007_199_254_740_991 },
    ],
  ],
])('reads the counters of %s', async (_, elements, expected) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-sent-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'set'), listing(elements));
  const { stdout } = await runProgram('sh', [
    '-euc',
    `ip() { cat ${folder}/set; }; . ${assetPath('functions/network.sh')}; network_sent`,
  ]);
  const [name, text] = stdout.trimEnd().split('=');
  expect(name).toBe('sent');
  const leaseOf = (address: string) => {
    const [, , third, fourth] = address.split('.').map(Number);
    return (third! * 256 + fourth! - 2) / 4;
  };
  expect(readSent(text ?? '', leaseOf)).toEqual(expected);
});

it('adds up the bytes of a lease for its owner, and reports ended ones once', () => {
  const totals = new SentTotals();
  totals.hold(1, 'a');
  const living = new Map([[2, 'b']]);
  const count = (one: number, two: number) => [
    { lease: 1, bytes: one },
    { lease: 2, bytes: two },
    { lease: 3, bytes: 1_000 },
  ];
  expect(totals.take(count(10, 20), living)).toEqual([
    { instanceId: 'a', bytes: 10 },
    { instanceId: 'b', bytes: 20 },
  ]);
  expect(totals.take(count(10, 25), living)).toEqual([{ instanceId: 'b', bytes: 25 }]);
  // The next at the same address begins with nothing.
  totals.hold(1, 'c');
  expect(totals.take(count(14, 25), new Map([...living, [1, 'c']]))).toEqual([
    { instanceId: 'b', bytes: 25 },
    { instanceId: 'c', bytes: 4 },
  ]);
  // A counter that is missing, or smaller, began anew.
  expect(totals.take([{ lease: 2, bytes: 5 }], living)).toEqual([
    { instanceId: 'b', bytes: 30 },
    { instanceId: 'c', bytes: 4 },
  ]);
});
