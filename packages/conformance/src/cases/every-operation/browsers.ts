import assert from 'node:assert/strict';
import { casesOf, check } from '../../case.js';
import { sampleRequest, unknownIds } from '../../requests/samples.js';
import { call, fillPath } from '../../wire/call.js';
import { platform } from '../../wire/documents.js';
import { send } from '../../wire/send.js';
import { all, needsOf } from './operations.js';

const paths = [...new Set(all.map((operation) => operation.path))];

/** CORS on every path, and the headers of deprecated operations. */
export const browserCases = casesOf('browsers', [
  ...paths.map((path) =>
    check(`a preflight of ${path} is answered`, ['preflight', 'success'], async (target) => {
      const answer = await send(`${target.apiUrl}${fillPath(path, unknownIds)}`, {
        method: 'OPTIONS',
        headers: {
          Origin: 'https://app.example.com',
          'Access-Control-Request-Method': 'POST',
          'Access-Control-Request-Headers': 'x-api-key, content-type',
        },
      });
      assert.equal(answer.status, 204);
      assert.equal(answer.headers['access-control-allow-origin'], '*');
      const allowed = (answer.headers['access-control-allow-headers'] ?? '').toLowerCase();
      for (const name of ['x-api-key', 'content-type', 'idempotency-key'])
        assert.ok(allowed === '*' || allowed.includes(name), `${name} in ${allowed}`);
      assert.equal(answer.headers['access-control-allow-credentials'], undefined);
    }),
  ),
  check('answers show the headers that clients need', ['getTeam', 'success'], async (target) => {
    for (const key of [target.apiKey, null]) {
      const answer = await call(target, 'getTeam', { key });
      assert.equal(answer.headers['access-control-allow-origin'], '*');
      const exposed = (
        (answer.headers['access-control-expose-headers'] as string | undefined) ?? ''
      ).toLowerCase();
      for (const name of [
        'x-next-token',
        'x-total-running',
        'ratelimit-limit',
        'ratelimit-remaining',
        'ratelimit-reset',
        'retry-after',
      ])
        assert.ok(exposed.includes(name), `${name} in ${exposed}`);
    }
  }),
  ...all
    .filter((operation) => operation.deprecated)
    .map((operation) =>
      check(
        `${operation.id} says that it is deprecated`,
        [operation.id, 'deprecated', { needs: needsOf(operation) }],
        async (target) => {
          const answer = await call(target, operation.id, sampleRequest(operation.id));
          assert.ok(answer.headers.deprecation !== undefined);
          const link = answer.headers.link as string | undefined;
          if (link === undefined) return;
          const successor = /^<([^>]+)>; rel="successor-version"$/.exec(link)?.[1];
          assert.ok(successor !== undefined, link);
          const known = [...platform.operations.values()].some((one) =>
            new RegExp(`^${one.path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`).test(successor),
          );
          assert.ok(known, `${successor} is a path of the document`);
        },
      ),
    ),
  check('other operations do not say so', ['listSandboxesV2', 'success'], async (target) => {
    const answer = await call(target, 'listSandboxesV2');
    assert.equal(answer.headers.deprecation, undefined);
  }),
  check('health needs no key and has no body', ['getHealth', 'success'], async (target) => {
    const answer = await call(target, 'getHealth', { key: null });
    assert.equal(answer.status, 204);
    assert.equal(answer.text, '');
  }),
]);
