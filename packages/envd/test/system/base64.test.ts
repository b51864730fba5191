import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { setFromBase64, toBase64 } from '../../src/system/base64.js';

describe('base64 of bytes', () => {
  it('is there for everybody, and not among the keys of bytes', () => {
    expect(Uint8Array.prototype).toMatchObject({
      toBase64: expect.any(Function),
      setFromBase64: expect.any(Function),
    });
    const keys: string[] = [];
    for (const key in Uint8Array.of(1)) keys.push(key);
    expect(keys).toEqual(['0']);
  });

  it.each([0, 1, 2, 3, 31, 32, 32_768, 32_769])('is there and back the same, %i bytes', (length) => {
    // A view into more than it shows.
    const bytes = new Uint8Array(randomBytes(length + 8)).subarray(3, 3 + length);
    const text = toBase64.call(bytes);
    expect(text).toBe(Buffer.from(bytes).toString('base64'));
    const back = new Uint8Array(length);
    expect(setFromBase64.call(back, text)).toEqual({ read: text.length, written: length });
    expect(Buffer.from(back).equals(Buffer.from(bytes))).toBe(true);
  });

  it.each([
    [{}, '+/8='],
    [{ omitPadding: true }, '+/8'],
    [{ alphabet: 'base64url' as const }, '-_8='],
    [{ alphabet: 'base64url' as const, omitPadding: true }, '-_8'],
  ])('takes %j', (options, text) => {
    expect(toBase64.call(Uint8Array.of(0xfb, 0xff), options)).toBe(text);
  });

  it.each(['A', 'AAA', 'AA=A', '=AAA', 'A===', 'AA-_', 'AA\nA', 'AAé='])(
    'leaves %j to somebody else',
    (text) => {
      expect(() => setFromBase64.call(new Uint8Array(8), text)).toThrow();
    },
  );
});
