import assert from 'node:assert/strict';
import { casesOf, check } from '../../case.js';
import { assertStatus, call, callFails, callOk } from '../../wire/call.js';

/** The team and its keys. */
export const teamCases = casesOf('team', [
  check(
    'the team has its limits and features',
    ['getTeam', 'success', { needs: ['teams'] }],
    async (target) => {
      const team = await target.team({ limits: { maxSecrets: 7 }, egressProxy: true });
      const got = await callOk<{
        teamID: string;
        slug: string;
        limits: { maxSecrets: number };
        features: { egressProxy: boolean };
      }>(team, 'getTeam', 200);
      assert.equal(got.teamID, team.teamId);
      assert.equal(got.slug, team.slug);
      assert.equal(got.limits.maxSecrets, 7);
      assert.equal(got.features.egressProxy, true);
    },
  ),
  check(
    'a key is shown once, works, and stops when it is deleted',
    ['createApiKey', 'success', { needs: ['teams'] }],
    async (target) => {
      const team = await target.team();
      const made = await callOk<{ id: string; key: string; mask: { maskedValueSuffix: string } }>(
        team,
        'createApiKey',
        201,
        { body: { name: 'second' } },
      );
      assert.match(made.key, /^svc_[0-9a-f]{40}$/);
      assert.equal(made.mask.maskedValueSuffix, made.key.slice(-4));
      await callOk(team, 'getTeam', 200, { key: made.key });
      const list = await call(team, 'listApiKeys');
      assert.equal(assertStatus<unknown[]>(list, 200).length, 2);
      assert.ok(!list.text.includes(made.key.slice(6)));
      await callOk(team, 'deleteApiKey', 204, { path: { apiKeyID: made.id } });
      await callFails(team, 'getTeam', 401, { key: made.key });
      await callFails(team, 'deleteApiKey', 404, { path: { apiKeyID: made.id } });
    },
  ),
  check('names of keys that are none are refused', ['createApiKey', '400'], async (target) => {
    for (const name of ['', 'x'.repeat(129), 7])
      await callFails(target, 'createApiKey', 400, { body: { name } });
  }),
  check(
    'a key of another team is not there',
    ['deleteApiKey', '404 foreign', { needs: ['teams'] }],
    async (target) => {
      const [one, stranger] = [await target.team(), await target.team()];
      const [key] = await callOk<{ id: string }[]>(one, 'listApiKeys', 200);
      await callFails(stranger, 'deleteApiKey', 404, { path: { apiKeyID: key!.id } });
      await callOk(one, 'getTeam', 200);
    },
  ),
]);
