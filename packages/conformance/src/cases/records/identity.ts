import assert from 'node:assert/strict';
import { casesOf, check } from '../../case.js';
import { assertStatus, call } from '../../wire/call.js';

/** The public documents with which identity tokens are verified. */
export const identityCases = casesOf('identity', [
  check(
    'the issuer describes itself to everybody, as OpenID Connect Discovery asks',
    ['getOpenidConfiguration', 'success'],
    async (target) => {
      const answer = await call(target, 'getOpenidConfiguration', { key: null });
      const document = assertStatus<{ issuer: string; jwks_uri: string }>(answer, 200);
      assert.equal(document.jwks_uri, `${document.issuer}/.well-known/jwks.json`);
      assert.match(answer.headers['cache-control'] as string, /^public, max-age=\d+$/);
    },
  ),
  check(
    'the keys are shown to everybody, without their private part',
    ['getJwks', 'success'],
    async (target) => {
      const answer = await call(target, 'getJwks', { key: null });
      const { keys } = assertStatus<{ keys: Record<string, string>[] }>(answer, 200);
      assert.ok(keys.length > 0);
      assert.equal(new Set(keys.map((key) => key.kid)).size, keys.length, 'each has an id of its own');
      for (const key of keys) assert.ok(!('d' in key), 'no private part');
    },
  ),
]);
