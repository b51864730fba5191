import assert from 'node:assert/strict';
import { createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import type { Draft } from '../../case.js';
import { unique } from '../../requests/samples.js';
import type { EgressServer } from '../../targets/target.js';
import { callOk } from '../../wire/call.js';
import { CLOSED, egressCase, ownName, seenOf } from './fake-internet.js';

const ruled = (host: string, headers: Record<string, string>) => ({
  ...CLOSED,
  allowOut: [host],
  rules: { [host]: [{ transform: { headers } }] },
});

/** Headers that requests get on the way out. */
export const headerCases: Draft[] = [
  egressCase(
    'rules set headers for their host alone, over HTTPS and those without placeholders over HTTP',
    ['createSandboxV2', 'success'],
    async (create, server) => {
      const host = ownName();
      const other = ownName();
      const name = unique('key');
      await callOk(server, 'createSecret', 201, { body: { name, value: 'v-1' } });
      const network = ruled(host, { 'X-Static': 'fixed', 'X-Key': `Key \${svc.secrets.${name}}` });
      const sandbox = await create({ network: { ...network, allowOut: [host, other] } });
      const secure = await sandbox.headers(`https://${host}/`);
      assert.deepEqual([secure['x-static'], secure['x-key']], ['fixed', 'Key v-1']);
      const plain = await sandbox.headers(`http://${host}/`);
      assert.deepEqual([plain['x-static'], plain['x-key']], ['fixed', undefined]);
      const unruled = await sandbox.headers(`http://${other}/`);
      assert.deepEqual([unruled['x-static'], unruled['x-key']], [undefined, undefined]);
    },
  ),
  egressCase(
    'a secret is put in with its current version, and nothing is sent once it is revoked',
    ['updateSecret', 'success'],
    async (create, server) => {
      const host = ownName();
      const name = unique('key');
      const path = { secretID: name };
      await callOk(server, 'createSecret', 201, { body: { name, value: 'v-1' } });
      const sandbox = await create({
        network: ruled(host, { Authorization: `Bearer \${svc.secrets.${name}}` }),
      });
      const sent = async () => (await sandbox.headers(`https://${host}/`)).authorization;
      assert.equal(await sent(), 'Bearer v-1');
      await callOk(server, 'updateSecret', 200, { path, body: { value: 'v-2' } });
      assert.equal(await sent(), 'Bearer v-2');
      await callOk(server, 'deleteSecret', 204, { path });
      const before = seenOf(server, host).length;
      assert.equal(await sandbox.status(`https://${host}/`), '502');
      assert.equal(seenOf(server, host).length, before, 'nothing was sent');
    },
  ),
  egressCase(
    'an identity token is one that the published documents verify, for its audience and its sandbox',
    ['createSandboxV2', 'success'],
    async (create, server) => {
      const host = ownName();
      const sandbox = await create({
        iam: { tokens: { cloud: { audience: 'https://cloud.test', tokenType: 'JWT-SVID' } } },
        network: ruled(host, { Authorization: `Bearer \${svc.identity.tokens.cloud}` }),
      });
      const { authorization = '' } = await sandbox.headers(`https://${host}/`);
      const claims = await verified(server, authorization.replace(/^Bearer /, ''));
      assert.deepEqual(claims.aud, ['https://cloud.test']);
      assert.match(String(claims.sub), new RegExp(`^spiffe://.+/sandbox/${sandbox.sandboxId}$`));
      assert.equal(Number(claims.exp) - Number(claims.iat), 300);
    },
  ),
];

/** The claims of a token, once a published key fits its signature. */
async function verified(server: EgressServer, token: string): Promise<Record<string, unknown>> {
  const [head = '', body = '', signature = ''] = token.split('.');
  const read = (text: string) =>
    JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Record<string, unknown>;
  const { alg, kid } = read(head);
  assert.equal(alg, 'ES256');
  const issuer = await callOk<{ issuer: string }>(server, 'getOpenidConfiguration', 200, { key: null });
  const { keys } = await callOk<{ keys: (JsonWebKey & { kid: string })[] }>(server, 'getJwks', 200, {
    key: null,
  });
  const key = keys.find((each) => each.kid === kid);
  assert.ok(key !== undefined, 'the key of the token is published');
  const fits = verify(
    'sha256',
    Buffer.from(`${head}.${body}`),
    { key: createPublicKey({ key, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  assert.ok(fits, 'the signature is of that key');
  const claims = read(body);
  assert.equal(claims.iss, issuer.issuer);
  return claims;
}
