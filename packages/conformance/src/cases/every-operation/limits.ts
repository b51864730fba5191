import assert from 'node:assert/strict';
import { casesOf, check } from '../../case.js';
import { sampleRequest } from '../../requests/samples.js';
import { assertFailure, call, callFails } from '../../wire/call.js';
import { all, needsOf } from './operations.js';

const limited = all.filter((operation) => operation.secured && operation.statuses.includes('429'));

/** Operations that need no table but those of teams and keys. */
const NEEDS_NO_STORE = new Set(['getTeam', 'getHealth']);
/** Their only tables are the ones that credentials need too. */
const KEYS_ONLY = new Set(['listApiKeys', 'createApiKey', 'deleteApiKey']);

const stored = all.filter(
  (operation) =>
    operation.secured &&
    operation.statuses.includes('500') &&
    !NEEDS_NO_STORE.has(operation.id) &&
    !KEYS_ONLY.has(operation.id),
);

/** 429 by rate with its four headers, and 500 of a store that fails, for every operation. */
export const limitCases = casesOf('limits', [
  ...limited.map((operation) =>
    check(
      `${operation.id} beyond the rate gives 429 with the four headers`,
      [operation.id, '429 rate', { needs: needsOf(operation, 'servers') }],
      async (target) => {
        const server = await target.server('rate-limited');
        const team = await server.team();
        const first = await call(team, operation.id, sampleRequest(operation.id));
        assert.notEqual(first.status, 429, 'the first is within the rate');
        assert.equal(first.headers['ratelimit-limit'], '1');
        assert.equal(first.headers['ratelimit-remaining'], '0');
        assert.match(first.headers['ratelimit-reset'] as string, /^\d+$/);
        assert.equal(first.headers['retry-after'], undefined);
        const answer = await call(team, operation.id, sampleRequest(operation.id));
        assert.equal(assertFailure(answer, { status: 429 }).message, 'Rate limit exceeded');
        assert.equal(answer.headers['ratelimit-limit'], '1');
        assert.equal(answer.headers['ratelimit-remaining'], '0');
        assert.match(answer.headers['ratelimit-reset'] as string, /^\d+$/);
        assert.match(answer.headers['retry-after'] as string, /^[1-9]\d*$/);
        const other = await call(await server.team(), operation.id, sampleRequest(operation.id));
        assert.notEqual(other.status, 429, 'another team has its own bucket');
      },
    ),
  ),
  ...all
    .filter((operation) => operation.secured && !stored.includes(operation))
    .map((operation) =>
      check(
        `${operation.id} on a store that does not know its keys gives 500`,
        [operation.id, '500 storage', { needs: needsOf(operation, 'servers') }],
        async (target) => {
          const server = await target.server('broken-keys');
          await callFails(
            server,
            operation.id,
            { status: 500, message: 'internal server error' },
            sampleRequest(operation.id),
          );
        },
      ),
    ),
  ...stored.map((operation) =>
    check(
      `${operation.id} on a store that fails gives 500 without details`,
      [operation.id, '500 storage', { needs: needsOf(operation, 'servers') }],
      async (target) => {
        const server = await target.server('broken-storage');
        const answer = await call(server, operation.id, sampleRequest(operation.id));
        const { message } = assertFailure(answer, {
          status: 500,
          ...(/"error_code":"(sandbox_create_failed|internal_server_error)"/.test(answer.text)
            ? { errorCode: JSON.parse(answer.text).error_code as string }
            : {}),
        });
        assert.doesNotMatch(message, /table|sql|lost_|column|select/i, 'no detail of the store');
      },
    ),
  ),
  check(
    'the rate is counted after the key and the document',
    ['createVolume', '429 rate', { needs: ['servers'] }],
    async (target) => {
      const server = await target.server('rate-limited');
      const team = await server.team();
      await callFails(team, 'createVolume', { status: 400, message: 'validation error: ' }, { body: {} });
      const answer = await call(team, 'createVolume', sampleRequest('createVolume'));
      assert.equal(answer.status, 201, 'a refused request was not counted');
      assert.equal((await call(team, 'createVolume', sampleRequest('createVolume'))).status, 429);
    },
  ),
]);
