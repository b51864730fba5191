import { describe, expect, it } from 'vitest';
import { explainEgress } from '../../src/egress.js';
import { iamToken, identityToken, secret } from '../../src/index.js';

const onlyMirror = {
  denyOut: ['0.0.0.0/0'],
  allowOut: ['*.npmjs.org', '203.0.112.0/24', 'api.test'],
  rules: { 'API.test': [{ transform: { headers: { Authorization: `Bearer ${secret('key')}` } } }] },
};

describe('explaining what network settings do', () => {
  it.each([
    ['https://registry.npmjs.org/left-pad', 'allowed', 'allowOut[0] *.npmjs.org'],
    ['https://npmjs.org/', 'denied', 'denyOut[0] 0.0.0.0/0'],
    ['http://203.0.112.7/', 'allowed', 'allowOut[1] 203.0.112.0/24'],
    ['http://169.254.169.254/latest/meta-data', 'denied', 'private range 169.254.0.0/16'],
  ])('says of %s: %s, by %s', (url, verdict, rule) => {
    const explained = explainEgress({ ...onlyMirror, allowOut: onlyMirror.allowOut.slice(0, 2) }, url);
    expect([explained.verdict, explained.rule]).toEqual([verdict, rule]);
  });

  it('reports which headers are set, and that a placeholder never goes over plain HTTP', () => {
    expect(explainEgress(onlyMirror, 'https://api.test/')).toMatchObject({
      headers: ['Authorization'],
      intercepted: true,
    });
    expect(explainEgress(onlyMirror, 'http://api.test/')).toMatchObject({ headers: [], intercepted: false });
  });

  it('follows allowInternetAccess', () => {
    expect(explainEgress({}, 'https://example.com/').verdict).toBe('allowed');
    expect(explainEgress({ allowInternetAccess: false }, 'https://example.com/').verdict).toBe('denied');
  });

  it('names an entry that is none', () => {
    expect(() => explainEgress({ denyOut: ['example.com'] }, 'https://example.com/')).toThrow('example.com');
    expect(() => explainEgress({}, 'ftp://example.com/')).toThrow('ftp');
  });
});

describe('builders', () => {
  it('give placeholders and tokens as the service reads them', () => {
    expect(secret('key')).toBe('${svc.secrets.key}');
    expect(identityToken('vault')).toBe('${svc.identity.tokens.vault}');
    expect(iamToken({ audience: 'a' })).toEqual({ audience: 'a', tokenType: 'JWT-SVID' });
  });
});
