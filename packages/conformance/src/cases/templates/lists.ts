import assert from 'node:assert/strict';
import type { Draft } from '../../case.js';
import { assertFailure, assertStatus, call } from '../../wire/call.js';
import { create, own } from './calls.js';

/** Lists of templates, and names that are looked up. */
export const templateListCases: Draft[] = [
  {
    name: 'lists have pages, newest first',
    operation: 'listTemplatesV2',
    expects: 'success',
    needs: own,
    run: async (target) => {
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
      const v1 = assertStatus<{ templateID: string }[]>(await call(team, 'listTemplates'), 200);
      for (const id of made) assert.ok(v1.some((one) => one.templateID === id));
      assertFailure(await call(team, 'listTemplatesV2', { query: { nextToken: 'nonsense' } }), {
        status: 400,
      });
      assertFailure(await call(team, 'listTemplatesV2', { query: { limit: 0 } }), { status: 400 });
      assertFailure(
        await call(team, 'getTemplate', { path: { templateID: made[0]! }, query: { nextToken: 'nonsense' } }),
        { status: 400 },
      );
      assertFailure(
        await call(team, 'getTemplate', { path: { templateID: made[0]! }, query: { limit: 101 } }),
        { status: 400 },
      );
    },
  },
  {
    name: 'names are found, and those of others are closed',
    operation: 'getTemplateAlias',
    expects: 'success',
    needs: own,
    run: async (target) => {
      const team = await target.team();
      const made = await create(team);
      const alias = made.aliases[0]!;
      const found = assertStatus<{ templateID: string; public: boolean }>(
        await call(team, 'getTemplateAlias', { path: { alias } }),
        200,
      );
      assert.deepEqual(found, { templateID: made.templateID, public: false });
      assertFailure(await call(team, 'getTemplateAlias', { path: { alias: 'has space' } }), { status: 400 });
      assertFailure(await call(team, 'listTemplateTags', { path: { templateID: 'has space' } }), {
        status: 400,
      });
      const stranger = await target.team();
      const { status } = await call(stranger, 'getTemplateAlias', {
        path: { alias: `${team.slug}/${alias}` },
      });
      assert.equal(status, 404);
      for (const operation of ['getTemplate', 'listTemplateTags'])
        assertFailure(await call(stranger, operation, { path: { templateID: made.templateID } }), {
          status: 404,
        });
      assertFailure(await call(stranger, 'createSandboxV2', { body: { templateID: made.templateID } }), {
        status: 404,
      });
    },
  },
];
