import assert from 'node:assert/strict';
import type { Draft } from '../../case.js';
import { assertFailure, assertStatus, call } from '../../wire/call.js';
import { own, ready } from './calls.js';

/** Tags of builds. */
export const tagCases: Draft[] = [
  {
    name: 'tags are set, moved, listed, used and deleted',
    operation: 'assignTemplateTags',
    expects: 'success',
    needs: own,
    timeoutMs: 120_000,
    run: async (target) => {
      const team = await target.team();
      const made = await ready(team, target.template);
      const name = made.aliases[0]!;
      const assigned = assertStatus<{ tags: string[]; buildID: string }>(
        await call(team, 'assignTemplateTags', { body: { target: name, tags: ['V1', 'v1', 'stable'] } }),
        201,
      );
      assert.deepEqual(assigned.tags.sort(), ['stable', 'v1']);
      assert.equal(assigned.buildID, made.buildID);
      const tags = async () =>
        assertStatus<{ tag: string }[]>(
          await call(team, 'listTemplateTags', { path: { templateID: made.templateID } }),
          200,
        )
          .map((one) => one.tag)
          .sort();
      assert.deepEqual(await tags(), ['default', 'stable', 'v1']);
      const sandbox = await target.newSandbox({ templateID: `${name}:v1` }, team);
      assertStatus(await call(team, 'killSandbox', { path: { sandboxID: sandbox.sandboxId } }), 204);
      assertStatus(
        await call(team, 'deleteTemplateTags', { body: { name, tags: ['v1', 'no-such-tag'] } }),
        204,
      );
      assert.deepEqual(await tags(), ['default', 'stable']);
      for (const body of [
        { name, tags: ['default'] },
        { name: `${name}:stable`, tags: ['stable'] },
        { name, tags: [] },
      ])
        assertFailure(await call(team, 'deleteTemplateTags', { body }), { status: 400 });
      for (const body of [
        { target: name, tags: [] },
        { target: name, tags: ['bad tag'] },
        { target: name, tags: [made.buildID] },
      ])
        assertFailure(await call(team, 'assignTemplateTags', { body }), { status: 400 });
      assertFailure(
        await call(team, 'assignTemplateTags', { body: { target: `${name}:no-such-tag`, tags: ['x'] } }),
        { status: 404 },
      );
    },
  },
];
