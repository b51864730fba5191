import { describe, expect, it } from 'vitest';
import { contains, parseAddress, parseRange } from '../src/addresses.js';
import { deniedRangeOf } from '../src/denied-ranges.js';
import { DENIED_RANGES } from '../src/gen/denied-ranges.js';

describe('addresses', () => {
  it.each([
    '0177.0.0.1',
    '0x7f.0.0.1',
    '0x7f000001',
    '2130706433',
    '127.1',
    '127.0.1',
    '1.2.3',
    '1.2.3.4.5',
    '256.1.1.1',
    '1.2.3.04',
    ' 1.2.3.4',
    '1.2.3.4 ',
    '١.2.3.4',
    '1:2',
    ':::',
    '1::2::3',
    '12345::',
    '::1.2.3',
    '::g',
    '1:2:3:4:5:6:7:8:9',
    'fe80::1%eth0',
    '',
  ])('refuse the spelling %j', (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });
  it.each<[string, 4 | 6, bigint]>([
    ['0.0.0.0', 4, 0n],
    ['1.2.3.4', 4, 0x01020304n],
    ['255.255.255.255', 4, 0xffffffffn],
    ['::ffff:1.2.3.4', 4, 0x01020304n],
    ['::ffff:102:304', 4, 0x01020304n],
    ['0:0:0:0:0:FFFF:1.2.3.4', 4, 0x01020304n],
    ['::', 6, 0n],
    ['::1', 6, 1n],
    ['1::', 6, 1n << 112n],
    ['1:2:3:4:5:6:7:8', 6, 0x00010002000300040005000600070008n],
    ['64:ff9b::10.0.0.1', 6, 0x0064ff9b00000000000000000a000001n],
  ])('read %s', (text, family, value) => {
    expect(parseAddress(text)).toEqual({ family, value });
  });
  it.each<[string, string[], string[]]>([
    ['10.0.0.0/8', ['10.0.0.0', '10.255.255.255', '::ffff:10.1.1.1'], ['9.255.255.255', '11.0.0.0', '::1']],
    ['10.1.2.3/8', ['10.0.0.0'], ['11.0.0.0']],
    ['1.1.1.1', ['1.1.1.1'], ['1.1.1.2']],
    ['0.0.0.0/0', ['1.1.1.1'], ['2606::1']],
    ['fe80::/10', ['fe80::1', 'febf::1'], ['fec0::1', '254.128.0.0']],
    ['::ffff:10.0.0.0/104', ['10.1.1.1'], ['11.1.1.1']],
  ])('range %s', (text, inside, outside) => {
    const range = parseRange(text)!;
    for (const each of inside) expect([each, contains(range, parseAddress(each)!)]).toEqual([each, true]);
    for (const each of outside) expect([each, contains(range, parseAddress(each)!)]).toEqual([each, false]);
  });
  it.each([
    '1.1.1.1/33',
    '1.1.1.1/',
    '1.1.1.1/08',
    '1.1.1.1/-1',
    '1.1.1.1/1/1',
    '::/129',
    '::ffff:1.1.1.1/90',
    'a/8',
    '010.0.0.0/8',
  ])('refuse the range %s', (text) => {
    expect(parseRange(text)).toBeUndefined();
  });
  it('deny the first and the last address of every special range, and the public ones beside them not', () => {
    for (const text of DENIED_RANGES) {
      const { family, first, last } = parseRange(text)!;
      expect([deniedRangeOf({ family, value: first }), deniedRangeOf({ family, value: last })]).not.toContain(
        undefined,
      );
    }
    for (const text of [
      '9.255.255.255',
      '11.0.0.0',
      '100.63.255.255',
      '172.32.0.0',
      '192.169.0.0',
      '8.8.8.8',
      '2606:4700::1111',
    ])
      expect(deniedRangeOf(parseAddress(text)!)).toBeUndefined();
  });
});
