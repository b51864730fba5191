import { createRemoteJWKSet, decodeProtectedHeader, type JWTVerifyOptions, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mintIdentityToken } from '../../src/network/identity/mint-token.js';
import { startTestServer, type TestServer } from '../support/server.js';

const DAY_MS = 86_400_000;
const SUBJECT = { id: 'isandbox', team_id: 'team-1', execution_id: 'run-1', template_id: 'tpl' };
let test: TestServer;
beforeAll(async () => {
  test = await startTestServer();
});
afterAll(() => test[Symbol.asyncDispose]());

const discover = async () => {
  const response = await fetch(`${test.server.apiUrl}/.well-known/openid-configuration`);
  return (await response.json()) as { issuer: string; jwks_uri: string };
};
/** As a relying party does it, which knows the issuer and its own name. */
const verify = async (token: string, options: JWTVerifyOptions = {}) => {
  const { issuer, jwks_uri } = await discover();
  return jwtVerify(token, createRemoteJWKSet(new URL(jwks_uri)), {
    issuer,
    audience: 'https://sts.example',
    currentDate: new Date(test.server.context.now()),
    ...options,
  });
};
const mint = () => mintIdentityToken(test.server.context, SUBJECT, 'https://sts.example');
const published = async () => (await test.api('GET', '/.well-known/jwks.json')).body.keys;

describe('identity tokens', () => {
  it('are verified with what the issuer publishes, and name the run of the sandbox', async () => {
    const { payload, protectedHeader } = await verify(await mint(), { clockTolerance: 1 });
    expect(protectedHeader).toMatchObject({ alg: 'ES256', typ: 'JWT' });
    expect(payload).toMatchObject({
      iss: test.server.apiUrl,
      sub: 'spiffe://127.0.0.1/team/team-1/sandbox/isandbox',
      aud: ['https://sts.example'],
      'svc:execution_id': 'run-1',
      'svc:template_id': 'tpl',
    });
    expect(payload.exp! - payload.iat!).toBe(300);
  });

  it('are refused by another audience, after five minutes, and when a byte was changed', async () => {
    const token = await mint();
    await expect(verify(token, { audience: 'https://other.example' })).rejects.toThrow(/aud/);
    const later = { currentDate: new Date(test.server.context.now() + 301_000) };
    await expect(verify(token, later)).rejects.toThrow(/exp/);
    const [head, , signature] = token.split('.');
    const claims = Buffer.from(JSON.stringify({ sub: 'spiffe://somebody/else' })).toString('base64url');
    await expect(verify(`${head}.${claims}.${signature}`)).rejects.toThrow(/signature/);
  });

  it('come with public documents that need no key and show no private part', async () => {
    const response = await fetch(`${test.server.apiUrl}/.well-known/jwks.json`);
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('public, max-age=3600');
    expect(await response.text()).not.toMatch(/"d"/);
    const rows = await test.server.context.db.selectFrom('settings').selectAll().execute();
    expect(rows.map((row) => row.key)).toContain('identity-keys');
    for (const { value } of rows) expect(value).not.toMatch(/kty|P-256/);
  });

  it('keep their keys over a restart', async () => {
    const before = await published();
    await test.restart();
    expect(await published()).toEqual(before);
  });

  it('change their key so that no relying party misses one: shown before it signs, and after', async () => {
    const first = await mint();
    const [{ kid: old }] = await published();
    test.advance(30 * DAY_MS + 1);
    const kids = async () => (await published()).map((key: { kid: string }) => key.kid);
    const [next, ...others] = await kids();
    expect(others).toEqual([old]);
    // Keys that relying parties fetched a day ago are enough: the old key signs until the new one is known.
    expect(decodeProtectedHeader(await mint()).kid).toBe(old);
    test.advance(DAY_MS);
    const second = await mint();
    expect(decodeProtectedHeader(second).kid).toBe(next);
    expect(await kids()).toEqual([next, old]);
    await expect(verify(second, { clockTolerance: 1 })).resolves.toBeDefined();
    test.advance(DAY_MS);
    expect(await kids()).toEqual([next]);
    await expect(verify(first)).rejects.toThrow(/no applicable key|exp/);
  });
});
