import { describe, expect, it } from 'vitest';
import {
  canonicalSecretName,
  checkSecretMetadata,
  checkSecretValue,
  parseSecretSelector,
  secretIdFromHex,
} from '../../src/network/secrets/rules.js';

const refused = expect.objectContaining({ status: 400, message: 'Invalid secrets request' });

describe('names of secrets', () => {
  it.each([
    ['  Api_Key-1 ', 'api_key-1'],
    ['A'.repeat(128), 'a'.repeat(128)],
  ])('makes %j canonical', (given, name) => {
    expect(canonicalSecretName(given)).toBe(name);
  });

  it.each(['', '   ', 'a b', 'ä', 'a.b', 'sec_mine', 'SEC_mine', 'a'.repeat(129)])(
    'refuses %j and repeats nothing of it',
    (given) => {
      expect(() => canonicalSecretName(given)).toThrow(refused);
    },
  );
});

describe('selectors of secrets', () => {
  const id = secretIdFromHex('f'.repeat(32));

  it('takes an id, in any case, for an id', () => {
    expect(parseSecretSelector(` ${id.toUpperCase()} `)).toEqual({ by: 'id', id });
  });

  it('never falls back from a broken id to a name', () => {
    expect(() => parseSecretSelector('sec_short')).toThrow(refused);
  });

  it('takes anything else for a name', () => {
    expect(parseSecretSelector('Token')).toEqual({ by: 'name', name: 'token' });
  });

  it('makes ids of 26 characters that differ where the bytes differ', () => {
    const ids = ['0'.repeat(32), `${'0'.repeat(31)}1`, 'f'.repeat(32)].map(secretIdFromHex);
    for (const each of ids) expect(each).toMatch(/^sec_[a-z2-7]{26}$/);
    expect(new Set(ids).size).toBe(3);
  });
});

describe('limits of secrets', () => {
  it('counts bytes of the value, not characters', () => {
    expect(() => checkSecretValue('x'.repeat(16_384))).not.toThrow();
    expect(() => checkSecretValue('x'.repeat(16_385))).toThrow(refused);
    expect(() => checkSecretValue('ä'.repeat(8193))).toThrow(refused);
    expect(() => checkSecretValue('')).toThrow(refused);
  });

  it.each([
    ['32 entries', Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`k${i}`, 'v'])), true],
    ['33 entries', Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`k${i}`, 'v'])), false],
    ['an empty key', { '': 'v' }, false],
    ['a key of 129 bytes', { ['k'.repeat(129)]: 'v' }, false],
    ['a key of 128 bytes in two-byte letters', { ['ä'.repeat(64)]: 'v' }, true],
    ['a value of 1025 bytes', { k: 'v'.repeat(1025) }, false],
    [
      '8192 bytes in all',
      Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`${i}`, 'v'.repeat(1023)])),
      true,
    ],
    [
      '8193 bytes in all',
      { ...Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`${i}`, 'v'.repeat(1023)])), x: '' },
      false,
    ],
  ])('judges %s', (_what, metadata, fine) => {
    const check = () => checkSecretMetadata(metadata as Record<string, string>);
    if (fine) expect(check).not.toThrow();
    else expect(check).toThrow(refused);
  });
});
