import assert from 'node:assert/strict';
import { check, type Draft } from '../../case.js';
import { kill } from '../../requests/sandboxes.js';
import { callFails, callOk } from '../../wire/call.js';
import { own, ready } from './calls.js';

/** Tags of builds. */
export const tagCases: Draft[] = [
  check(
    'tags are set, moved, listed, used and deleted',
    ['assignTemplateTags', 'success', { needs: own }],
    async (target) => {
      const team = await target.team();
      const made = await ready(team, target.template);
      const name = made.aliases[0]!;
      const assigned = await callOk<{ tags: string[]; buildID: string }>(team, 'assignTemplateTags', 201, {
        body: { target: name, tags: ['V1', 'v1', 'stable'] },
      });
      assert.deepEqual(assigned.tags.sort(), ['stable', 'v1']);
      assert.equal(assigned.buildID, made.buildID);
      const tags = async () =>
        (
          await callOk<{ tag: string }[]>(team, 'listTemplateTags', 200, {
            path: { templateID: made.templateID },
          })
        )
          .map((one) => one.tag)
          .sort();
      assert.deepEqual(await tags(), ['default', 'stable', 'v1']);
      const sandbox = await target.newSandbox({ templateID: `${name}:v1` }, team);
      await kill(team, sandbox.sandboxId);
      await callOk(team, 'deleteTemplateTags', 204, { body: { name, tags: ['v1', 'no-such-tag'] } });
      assert.deepEqual(await tags(), ['default', 'stable']);
      for (const body of [
        { name, tags: ['default'] },
        { name: `${name}:stable`, tags: ['stable'] },
        { name, tags: [] },
      ])
        await callFails(team, 'deleteTemplateTags', 400, { body });
      for (const body of [
        { target: name, tags: [] },
        { target: name, tags: ['bad tag'] },
        { target: name, tags: [made.buildID] },
      ])
        await callFails(team, 'assignTemplateTags', 400, { body });
      await callFails(team, 'assignTemplateTags', 404, {
        body: { target: `${name}:no-such-tag`, tags: ['x'] },
      });
    },
  ),
];
