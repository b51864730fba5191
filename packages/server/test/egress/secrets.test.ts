import { X509Certificate } from 'node:crypto';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resolvePlaceholders } from '../../src/network/egress/resolve-placeholders.js';
import type { PlaceholderScope } from '../../src/network/sandbox-egress.js';
import { resolveMarker } from '../../src/network/secrets/values.js';
import { startTestServer, type TestServer } from '../support/server.js';

let test: TestServer;
let teamId: string;
beforeAll(async () => {
  test = await startTestServer();
  teamId = (await test.api('GET', '/team')).body.teamID;
  await test.api('POST', '/secrets', { name: 'api-key', value: 'first-value' });
});
afterAll(() => test[Symbol.asyncDispose]());

const scopeWith = (value: string, more: Partial<PlaceholderScope['subject']> = {}): PlaceholderScope => ({
  subject: { id: 'ia', team_id: teamId, execution_id: 'run-1', template_id: 'tpl', ...more },
  policy: { allowOut: [], denyOut: [], rules: { 'api.test': { headers: { Authorization: value } } } },
  tokens: { cloud: { audience: 'https://cloud.test', tokenType: 'JWT-SVID' } },
  minted: new Map(),
});
const KEY = '${svc.secrets.api-key}';
const secret = (name: string) => ({ kind: 'secret' as const, name });
const identity = (name: string) => ({ kind: 'identity' as const, name });
const resolve = (scope: PlaceholderScope, ...placeholders: Parameters<typeof resolvePlaceholders>[2]) =>
  resolvePlaceholders(test.server.context, scope, placeholders);

describe('a secret in a rule', () => {
  it('has the value of its current version, at each request', async () => {
    const scope = scopeWith(KEY);
    expect(await resolve(scope, secret('api-key'))).toEqual(['first-value']);
    await test.api('POST', '/secrets/api-key', { value: 'second-value' });
    expect(await resolve(scope, secret('api-key'), secret('api-key'))).toEqual([
      'second-value',
      'second-value',
    ]);
  });
  it('has none for another team, for a sandbox without a rule that names it, and when it is unknown', async () => {
    const stranger = scopeWith(KEY, { team_id: 'another-team' });
    await expect(resolve(stranger, secret('api-key'))).rejects.toThrow('secret api-key has no value');
    await expect(resolve(scopeWith('Bearer x'), secret('api-key'))).rejects.toThrow('has no value');
    await expect(resolve(scopeWith('${svc.secrets.nobody}'), secret('nobody'))).rejects.toThrow('no value');
  });
  it('has none once it is revoked, and none that would begin another header', async () => {
    await test.api('POST', '/secrets', { name: 'gone', value: 'x' });
    await test.api('POST', '/secrets', { name: 'lines', value: 'x\r\nX-Admin: 1' });
    const scope = scopeWith('${svc.secrets.gone} ${svc.secrets.lines}');
    expect(await resolve(scope, secret('gone'))).toEqual(['x']);
    await test.api('DELETE', '/secrets/gone');
    await expect(resolve(scope, secret('gone'))).rejects.toThrow('no value');
    await expect(resolve(scope, secret('lines'))).rejects.toThrow('no value');
  });
});

describe('an identity token in a rule', () => {
  it('names the run and its audience, and is used again for a minute', async () => {
    const scope = scopeWith('Bearer ${svc.identity.tokens.cloud}');
    const [token] = await resolve(scope, identity('cloud'));
    expect(decodeJwt(token!)).toMatchObject({
      aud: ['https://cloud.test'],
      sub: `spiffe://127.0.0.1/team/${teamId}/sandbox/ia`,
      'svc:execution_id': 'run-1',
    });
    test.advance(59_000);
    expect(await resolve(scope, identity('cloud'))).toEqual([token]);
    test.advance(2_000);
    expect(await resolve(scope, identity('cloud'))).not.toEqual([token]);
  });
  it('is not there under a name that the sandbox was not given, in another spelling or from a prototype', async () => {
    for (const name of ['Cloud', 'other', 'constructor', '__proto__']) {
      const scope = scopeWith(`\${svc.identity.tokens.${name}}`);
      await expect(resolve(scope, identity(name))).rejects.toThrow(`identity ${name} has no value`);
    }
  });
});

describe('a value that names a provider', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'svc-secrets-'));
    await mkdir(path.join(directory, 'allowed'));
    await writeFile(path.join(directory, 'allowed/token'), 'from-file\n');
    await writeFile(path.join(directory, 'private'), 'private');
    await symlink('../private', path.join(directory, 'allowed/link'));
    await writeFile(path.join(directory, 'allowed/large'), 'x'.repeat(16_385));
  });
  afterAll(() => rm(directory, { recursive: true }));
  const env = { ALLOWED: 'from-env', HOME: '/root', EMPTY: '' };
  const none = { variables: [], directories: [] };

  it('stands for itself where the operator allows nothing of the kind', async () => {
    for (const value of ['env:HOME', 'file:/etc/passwd', 'plain', 'env:'])
      expect(await resolveMarker(value, none, env)).toBe(value);
  });
  it('stands for a variable that is allowed, and for no other', async () => {
    const providers = { variables: ['ALLOWED', 'EMPTY', 'UNSET'], directories: [] };
    expect(await resolveMarker('env:ALLOWED', providers, env)).toBe('from-env');
    for (const name of ['HOME', 'EMPTY', 'UNSET', 'constructor'])
      expect(await resolveMarker(`env:${name}`, providers, env)).toBeUndefined();
  });
  it('stands for a file in an allowed directory, and for none that a path or a link leads to', async () => {
    const providers = { variables: [], directories: [path.join(directory, 'allowed')] };
    const file = (name: string) => resolveMarker(`file:${directory}/${name}`, providers, env);
    expect(await file('allowed/token')).toBe('from-file');
    for (const name of [
      'private',
      'allowed/../private',
      'allowed/link',
      'allowed/large',
      'allowed/missing',
      'allowed',
    ])
      expect(await file(name)).toBeUndefined();
    expect(await resolveMarker('file:token', providers, env)).toBeUndefined();
  });
});

describe('the authority that signs for intercepted hosts', () => {
  it('is made once, is an authority and nothing else, and lies encrypted', async () => {
    const { authority, db } = test.server.context;
    const [{ certificate, privateKey }, again] = await Promise.all([authority(), authority()]);
    expect(again.certificate).toBe(certificate);
    const read = new X509Certificate(certificate);
    expect(read.ca).toBe(true);
    expect(read.publicKey.asymmetricKeyDetails).toMatchObject({ namedCurve: 'prime256v1' });
    expect(read.checkPrivateKey((await import('node:crypto')).createPrivateKey(privateKey))).toBe(true);
    expect(read.verify(read.publicKey)).toBe(true);
    const rows = await db.selectFrom('settings').selectAll().execute();
    expect(rows.find((row) => row.key === 'egress-authority')?.value).not.toMatch(/BEGIN|certificate/);
    await test.restart();
    expect((await test.server.context.authority()).certificate).toBe(certificate);
  });
});
