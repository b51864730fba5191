import { describe, expect, it } from 'vitest';
import { FieldReader } from '../src/wire/read.js';
import { nameList, positiveInteger } from '../src/wire/write.js';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

describe('the examples of RFC 4251, section 5', () => {
  it.each([
    ['', '00 00 00 00'],
    ['09 a3 78 f9 b2 e3 32 a7', '00 00 00 08 09 a3 78 f9 b2 e3 32 a7'],
    ['80', '00 00 00 02 00 80'],
  ])('writes the positive integer %j', (value, encoded) =>
    expect(positiveInteger(hex(value))).toEqual(hex(encoded)),
  );

  it.each([
    [[], '00 00 00 00'],
    [['zlib'], '00 00 00 04 7a 6c 69 62'],
    [['zlib', 'none'], '00 00 00 09 7a 6c 69 62 2c 6e 6f 6e 65'],
  ])('writes and reads the list %j', (names, encoded) => {
    expect(nameList(names)).toEqual(hex(encoded));
    expect(new FieldReader(hex(encoded)).nameList()).toEqual(names);
  });

  it('reads an integer of 32 bits, and 0 as the only false', () => {
    const reader = new FieldReader(hex('29 b7 f4 aa 00 01 ff'));
    expect(reader.uint32()).toBe(699_921_578);
    expect([reader.boolean(), reader.boolean(), reader.boolean()]).toEqual([false, true, true]);
    expect(reader.rest).toBe(0);
  });
});
