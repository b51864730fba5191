import assert from 'node:assert/strict';
import { casesOf, check, type Draft } from '../../case.js';
import { sampleRequest } from '../../requests/samples.js';
import { assertFailure, call, callFails } from '../../wire/call.js';
import { all, needsOf } from './operations.js';

const secured = all.filter((operation) => operation.secured);

/** Three different 401s, 403 of banned teams, 403 of blocked ones where they are not let in. */
export const credentialCases = casesOf('credentials', [
  ...secured.flatMap((operation): Draft[] => [
    check(
      `${operation.id} without a key is refused as missing`,
      [operation.id, '401 missing', { needs: needsOf(operation) }],
      async (target) => {
        const answer = await call(target, operation.id, { ...sampleRequest(operation.id), key: null });
        assertFailure(answer, { status: 401, message: /missing/ });
      },
    ),
    check(
      `${operation.id} with a key of the wrong form is refused as malformed`,
      [operation.id, '401 malformed', { needs: needsOf(operation) }],
      async (target) => {
        for (const key of ['nonsense', 'svc_', 'svc_xyz', 'svc_abc', 'other_0123456789abcdef']) {
          const answer = await call(target, operation.id, { ...sampleRequest(operation.id), key });
          assertFailure(answer, { status: 401, message: 'Invalid API key format' });
          assert.ok(!answer.text.includes(key), 'the key is not repeated');
        }
      },
    ),
    check(
      `${operation.id} with a key that nobody has is refused as unknown`,
      [operation.id, '401 unknown', { needs: needsOf(operation) }],
      async (target) => {
        const key = `svc_${'0'.repeat(40)}`;
        const answer = await call(target, operation.id, { ...sampleRequest(operation.id), key });
        const { message } = assertFailure(answer, { status: 401 });
        assert.doesNotMatch(message, /missing|format/);
      },
    ),
    check(
      `${operation.id} is closed to a banned team`,
      [operation.id, '403 banned', { needs: needsOf(operation, 'teams') }],
      async (target) => {
        const team = await target.team();
        await team.ban();
        const answer = await call(team, operation.id, sampleRequest(operation.id));
        assertFailure(answer, { status: 403, message: 'team is banned' });
      },
    ),
  ]),
  ...secured
    .filter((operation) => !operation.allowedWhenBlocked)
    .map((operation) =>
      check(
        `${operation.id} is closed to a blocked team, with the reason`,
        [operation.id, '403 blocked', { needs: needsOf(operation, 'teams') }],
        async (target) => {
          const team = await target.team();
          await team.block('unpaid bills');
          const answer = await call(team, operation.id, sampleRequest(operation.id));
          assert.equal(assertFailure(answer, { status: 403 }).message, 'team is blocked: unpaid bills');
        },
      ),
    ),
  ...secured
    .filter((operation) => operation.allowedWhenBlocked)
    .map((operation) =>
      check(
        `${operation.id} is open to a blocked team`,
        [operation.id, 'not 403', { needs: needsOf(operation, 'teams') }],
        async (target) => {
          const team = await target.team();
          await team.block(null);
          const answer = await call(team, operation.id, sampleRequest(operation.id));
          assert.notEqual(answer.status, 403, answer.text);
        },
      ),
    ),
  check(
    'a blocked team without a reason gets no more',
    ['createSandboxV2', '403 blocked', { needs: ['teams'] }],
    async (target) => {
      const team = await target.team();
      await team.block(null);
      const answer = await call(team, 'createSandboxV2', sampleRequest('createSandboxV2'));
      assert.equal(assertFailure(answer, { status: 403 }).message, 'team is blocked');
    },
  ),
  check('a ban comes before a block', ['getTeam', '403 banned', { needs: ['teams'] }], async (target) => {
    const team = await target.team();
    await team.block('whatever');
    await team.ban();
    await callFails(team, 'getTeam', { status: 403, message: 'team is banned' });
  }),
  check('the key is checked before the body', ['createSandboxV2', '401 missing'], async (target) => {
    const answer = await call(target, 'createSandboxV2', { body: { nonsense: true }, key: null });
    assertFailure(answer, { status: 401, message: /missing/ });
  }),
  check('a key is read in any case of its digits', ['getTeam', 'success'], async (target) => {
    const [prefix, digits] = target.apiKey.split('_');
    const answer = await call(target, 'getTeam', { key: `${prefix}_${digits!.toUpperCase()}` });
    assert.equal(answer.status, 200);
  }),
]);
