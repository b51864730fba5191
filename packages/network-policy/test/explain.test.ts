import { describe, expect, it } from 'vitest';
import { explainEgress } from '../src/explain.js';
import { parseHeaderValue } from '../src/placeholders.js';

const policy = {
  allowOut: ['*.example.com', '1.1.1.1'],
  denyOut: ['0.0.0.0/0'],
  rules: { 'api.example.com': { headers: { authorization: 'Bearer ${svc.secrets.key}', 'x-team': 'a' } } },
};

describe('an explanation', () => {
  it.each([
    [
      'https://api.example.com/x',
      {
        verdict: 'allowed',
        rule: 'allowOut[0] *.example.com',
        host: 'api.example.com',
        port: 443,
        headers: ['authorization', 'x-team'],
        intercepted: true,
      },
    ],
    ['http://api.example.com/', { verdict: 'allowed', port: 80, headers: ['x-team'], intercepted: false }],
    ['https://API.example.com.:8443/', { verdict: 'depends', headers: [], intercepted: false }],
    ['https://example.com/', { verdict: 'denied', rule: 'denyOut[0] 0.0.0.0/0' }],
    ['https://1.1.1.1/', { verdict: 'allowed', rule: 'allowOut[1] 1.1.1.1' }],
    ['https://0x01010101/', { verdict: 'allowed', rule: 'allowOut[1] 1.1.1.1' }],
    ['https://[::1]/', { verdict: 'denied', rule: 'private range ::/96' }],
  ])('of %s', (url, expected) => {
    expect(explainEgress(policy, url)).toMatchObject(expected);
  });
  it('says what depends on the address', () => {
    const open = { allowOut: [], denyOut: ['1.0.0.0/8'], rules: {} };
    expect(explainEgress(open, 'https://a.example').verdict).toBe('depends');
    expect(explainEgress(open, 'https://a.example', { address: '1.2.3.4' }).verdict).toBe('denied');
    expect(explainEgress({ ...open, denyOut: [] }, 'https://a.example').verdict).toBe('allowed');
  });
  it('refuses what is no web address', () => {
    expect(() => explainEgress(policy, 'ftp://a.example')).toThrow('ftp:');
  });
});

describe('a header value', () => {
  it.each([
    ['plain', ['plain']],
    ['', []],
    ['Bearer ${svc.secrets. My_Key }!', ['Bearer ', { kind: 'secret', name: 'my_key' }, '!']],
    [
      '${svc.identity.tokens.Aws}${svc.secrets.a}',
      [
        { kind: 'identity', name: 'Aws' },
        { kind: 'secret', name: 'a' },
      ],
    ],
    ['${svc.other} ${HOME}', ['${svc.other} ${HOME}']],
  ])('%j is taken apart', (value, parts) => {
    expect(parseHeaderValue(value)).toEqual(parts);
  });
  it.each([
    '${svc.secrets.',
    '${svc.secrets.}',
    '${svc.secrets. }',
    '${svc.secrets.sec_a}',
    '${svc.secrets.a b}',
    '${svc.secrets.${svc.secrets.a}}',
    '${svc.identity.tokens.${x}}',
  ])('%j is refused', (value) => {
    expect(parseHeaderValue(value)).toBeUndefined();
  });
});
