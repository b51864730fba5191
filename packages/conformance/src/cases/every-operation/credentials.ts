import assert from 'node:assert/strict';
import { casesOf, type Draft } from '../../case.js';
import { sampleRequest } from '../../requests/samples.js';
import { assertFailure, call } from '../../wire/call.js';
import { all, needsOf } from './operations.js';

const secured = all.filter((operation) => operation.secured);

/** Three different 401s, 403 of banned teams, 403 of blocked ones where they are not let in. */
export const credentialCases = casesOf('credentials', [
  ...secured.flatMap((operation): Draft[] => [
    {
      name: `${operation.id} without a key is refused as missing`,
      operation: operation.id,
      expects: '401 missing',
      needs: needsOf(operation),
      run: async (target) => {
        const answer = await call(target, operation.id, { ...sampleRequest(operation.id), key: null });
        assertFailure(answer, { status: 401, message: /missing/ });
      },
    },
    {
      name: `${operation.id} with a key of the wrong form is refused as malformed`,
      operation: operation.id,
      expects: '401 malformed',
      needs: needsOf(operation),
      run: async (target) => {
        for (const key of ['nonsense', 'svc_', 'svc_xyz', 'svc_abc', 'other_0123456789abcdef']) {
          const answer = await call(target, operation.id, { ...sampleRequest(operation.id), key });
          assertFailure(answer, { status: 401, message: 'Invalid API key format' });
          assert.ok(!answer.text.includes(key), 'the key is not repeated');
        }
      },
    },
    {
      name: `${operation.id} with a key that nobody has is refused as unknown`,
      operation: operation.id,
      expects: '401 unknown',
      needs: needsOf(operation),
      run: async (target) => {
        const key = `svc_${'0'.repeat(40)}`;
        const answer = await call(target, operation.id, { ...sampleRequest(operation.id), key });
        const { message } = assertFailure(answer, { status: 401 });
        assert.doesNotMatch(message, /missing|format/);
      },
    },
    {
      name: `${operation.id} is closed to a banned team`,
      operation: operation.id,
      expects: '403 banned',
      needs: needsOf(operation, 'teams'),
      run: async (target) => {
        const team = await target.team();
        await team.ban();
        const answer = await call(team, operation.id, sampleRequest(operation.id));
        assertFailure(answer, { status: 403, message: 'team is banned' });
      },
    },
  ]),
  ...secured
    .filter((operation) => !operation.allowedWhenBlocked)
    .map(
      (operation): Draft => ({
        name: `${operation.id} is closed to a blocked team, with the reason`,
        operation: operation.id,
        expects: '403 blocked',
        needs: needsOf(operation, 'teams'),
        run: async (target) => {
          const team = await target.team();
          await team.block('unpaid bills');
          const answer = await call(team, operation.id, sampleRequest(operation.id));
          assert.equal(assertFailure(answer, { status: 403 }).message, 'team is blocked: unpaid bills');
        },
      }),
    ),
  ...secured
    .filter((operation) => operation.allowedWhenBlocked)
    .map(
      (operation): Draft => ({
        name: `${operation.id} is open to a blocked team`,
        operation: operation.id,
        expects: 'not 403',
        needs: needsOf(operation, 'teams'),
        run: async (target) => {
          const team = await target.team();
          await team.block(null);
          const answer = await call(team, operation.id, sampleRequest(operation.id));
          assert.notEqual(answer.status, 403, answer.text);
        },
      }),
    ),
  {
    name: 'a blocked team without a reason is told no more',
    operation: 'createSandboxV2',
    expects: '403 blocked',
    needs: ['teams'],
    run: async (target) => {
      const team = await target.team();
      await team.block(null);
      const answer = await call(team, 'createSandboxV2', sampleRequest('createSandboxV2'));
      assert.equal(assertFailure(answer, { status: 403 }).message, 'team is blocked');
    },
  },
  {
    name: 'a ban comes before a block',
    operation: 'getTeam',
    expects: '403 banned',
    needs: ['teams'],
    run: async (target) => {
      const team = await target.team();
      await team.block('whatever');
      await team.ban();
      assertFailure(await call(team, 'getTeam'), { status: 403, message: 'team is banned' });
    },
  },
  {
    name: 'the key is checked before the body',
    operation: 'createSandboxV2',
    expects: '401 missing',
    run: async (target) => {
      const answer = await call(target, 'createSandboxV2', { body: { nonsense: true }, key: null });
      assertFailure(answer, { status: 401, message: /missing/ });
    },
  },
  {
    name: 'a key is read whatever the case of its digits',
    operation: 'getTeam',
    expects: 'success',
    run: async (target) => {
      const [prefix, digits] = target.apiKey.split('_');
      const answer = await call(target, 'getTeam', { key: `${prefix}_${digits!.toUpperCase()}` });
      assert.equal(answer.status, 200);
    },
  },
]);
