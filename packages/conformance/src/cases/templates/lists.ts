import assert from 'node:assert/strict';
import { check, type Draft } from '../../case.js';
import { assertStatus, call, callFails, callOk } from '../../wire/call.js';
import { create, own } from './calls.js';

/** Lists of templates, and names that are looked up. */
export const templateListCases: Draft[] = [
  check('lists have pages, newest first', ['listTemplatesV2', 'success', { needs: own }], async (target) => {
    const team = await target.team();
    const made = [await create(team), await create(team), await create(team)].map((one) => one.templateID);
    const seen: string[] = [];
    let nextToken: string | undefined;
    do {
      const answer = await call(team, 'listTemplatesV2', { query: { limit: 2, nextToken } });
      seen.push(...assertStatus<{ templateID: string }[]>(answer, 200).map((one) => one.templateID));
      nextToken = answer.headers['x-next-token'] as string | undefined;
    } while (nextToken !== undefined);
    assert.deepEqual(seen.filter((id) => made.includes(id)).sort(), [...made].sort());
    const v1 = await callOk<{ templateID: string }[]>(team, 'listTemplates', 200);
    for (const id of made) assert.ok(v1.some((one) => one.templateID === id));
    await callFails(team, 'listTemplatesV2', 400, { query: { nextToken: 'nonsense' } });
    await callFails(team, 'listTemplatesV2', 400, { query: { limit: 0 } });
    await callFails(team, 'getTemplate', 400, {
      path: { templateID: made[0]! },
      query: { nextToken: 'nonsense' },
    });
    await callFails(team, 'getTemplate', 400, { path: { templateID: made[0]! }, query: { limit: 101 } });
  }),
  check(
    'names are found, and those of others are closed',
    ['getTemplateAlias', 'success', { needs: own }],
    async (target) => {
      const team = await target.team();
      const made = await create(team);
      const alias = made.aliases[0]!;
      const found = await callOk<{ templateID: string; public: boolean }>(team, 'getTemplateAlias', 200, {
        path: { alias },
      });
      assert.deepEqual(found, { templateID: made.templateID, public: false });
      await callFails(team, 'getTemplateAlias', 400, { path: { alias: 'has space' } });
      await callFails(team, 'listTemplateTags', 400, { path: { templateID: 'has space' } });
      const stranger = await target.team();
      const { status } = await call(stranger, 'getTemplateAlias', {
        path: { alias: `${team.slug}/${alias}` },
      });
      assert.equal(status, 404);
      for (const operation of ['getTemplate', 'listTemplateTags'])
        await callFails(stranger, operation, 404, { path: { templateID: made.templateID } });
      await callFails(stranger, 'createSandboxV2', 404, { body: { templateID: made.templateID } });
    },
  ),
];
