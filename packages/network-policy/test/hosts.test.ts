import { describe, expect, it } from 'vitest';
import { parseHost, parseHostPattern, splitAuthority } from '../src/hosts.js';

describe('hosts', () => {
  it.each([
    ['Example.COM', 'example.com'],
    ['example.com.', 'example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['BÜCHER.example.', 'xn--bcher-kva.example'],
    ['a_b.example', 'a_b.example'],
    ['localhost', 'localhost'],
  ])('read %s as %s', (text, name) => {
    expect(parseHost(text)).toEqual({ kind: 'name', name });
  });
  it.each([
    '',
    '.',
    'a..b',
    '.a',
    'a.example..',
    'a b',
    'a/b',
    'a:1',
    'a@b',
    '-a.b',
    'a-.b',
    'ａ/b',
    `${'a'.repeat(64)}.b`,
    `${'a.'.repeat(127)}aa`,
    'a\0b',
    '0x7f.1',
    '127.1',
    '2130706433',
    '017700000001',
    '1.2.3.4.5',
    'a.1',
    '１２７.1',
    '%61.example',
  ])('refuse %j', (text) => {
    expect(parseHost(text)).toBeUndefined();
  });
  it.each(['1.2.3.4', '::1', '[::1]', '[::ffff:1.2.3.4]'])('tell that %s is an address', (text) => {
    expect(parseHost(text)?.kind).toBe('address');
  });
  it.each([
    ['a', { host: 'a' }],
    ['a:80', { host: 'a', port: 80 }],
    ['a:', { host: 'a' }],
    ['[::1]:443', { host: '[::1]', port: 443 }],
    ['a:99999', undefined],
    ['a:b', undefined],
    [':80', undefined],
    ['::1', undefined],
    ['', undefined],
  ])('split the authority %j', (text, expected) => {
    expect(splitAuthority(text)).toEqual(expected);
  });
  it.each([
    ['*', { kind: 'any' }],
    ['*.A.example', { kind: 'below', name: 'a.example' }],
    ['a.example', { kind: 'exact', name: 'a.example' }],
    ['*.*.example', undefined],
    ['a.*.example', undefined],
    ['*.', undefined],
    ['1.2.3.4', undefined],
  ])('read the pattern %j', (text, expected) => {
    expect(parseHostPattern(text)).toEqual(expected);
  });
});
