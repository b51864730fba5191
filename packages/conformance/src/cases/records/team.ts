import assert from 'node:assert/strict';
import { casesOf } from '../../case.js';
import { assertFailure, assertStatus, call } from '../../wire/call.js';

/** The team and its keys. */
export const teamCases = casesOf('team', [
  {
    name: 'the team tells its limits and features',
    operation: 'getTeam',
    expects: 'success',
    needs: ['teams'],
    run: async (target) => {
      const team = await target.team({ limits: { maxSecrets: 7 }, egressProxy: true });
      const got = assertStatus<{
        teamID: string;
        slug: string;
        limits: { maxSecrets: number };
        features: { egressProxy: boolean };
      }>(await call(team, 'getTeam'), 200);
      assert.equal(got.teamID, team.teamId);
      assert.equal(got.slug, team.slug);
      assert.equal(got.limits.maxSecrets, 7);
      assert.equal(got.features.egressProxy, true);
    },
  },
  {
    name: 'a key is shown once, works, and stops when it is deleted',
    operation: 'createApiKey',
    expects: 'success',
    needs: ['teams'],
    run: async (target) => {
      const team = await target.team();
      const made = assertStatus<{ id: string; key: string; mask: { maskedValueSuffix: string } }>(
        await call(team, 'createApiKey', { body: { name: 'second' } }),
        201,
      );
      assert.match(made.key, /^svc_[0-9a-f]{40}$/);
      assert.equal(made.mask.maskedValueSuffix, made.key.slice(-4));
      assertStatus(await call(team, 'getTeam', { key: made.key }), 200);
      const list = await call(team, 'listApiKeys');
      assert.equal(assertStatus<unknown[]>(list, 200).length, 2);
      assert.ok(!list.text.includes(made.key.slice(6)));
      assertStatus(await call(team, 'deleteApiKey', { path: { apiKeyID: made.id } }), 204);
      assertFailure(await call(team, 'getTeam', { key: made.key }), { status: 401 });
      assertFailure(await call(team, 'deleteApiKey', { path: { apiKeyID: made.id } }), { status: 404 });
    },
  },
  {
    name: 'names of keys that are none are refused',
    operation: 'createApiKey',
    expects: '400',
    run: async (target) => {
      for (const name of ['', 'x'.repeat(129), 7])
        assertFailure(await call(target, 'createApiKey', { body: { name } }), { status: 400 });
    },
  },
  {
    name: 'a key of another team is not there',
    operation: 'deleteApiKey',
    expects: '404 foreign',
    needs: ['teams'],
    run: async (target) => {
      const [one, stranger] = [await target.team(), await target.team()];
      const [key] = assertStatus<{ id: string }[]>(await call(one, 'listApiKeys'), 200);
      assertFailure(await call(stranger, 'deleteApiKey', { path: { apiKeyID: key!.id } }), { status: 404 });
      assertStatus(await call(one, 'getTeam'), 200);
    },
  },
]);
