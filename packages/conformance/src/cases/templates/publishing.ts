import assert from 'node:assert/strict';
import { check, type Draft } from '../../case.js';
import { unique } from '../../requests/samples.js';
import { kill } from '../../requests/sandboxes.js';
import { callFails, callOk } from '../../wire/call.js';
import { create, own, ready } from './calls.js';

/** Public and private templates. */
export const publishingCases: Draft[] = [
  check(
    'a public template serves others, a private one does not',
    ['updateTemplateV2', 'success', { needs: own }],
    async (target) => {
      const team = await target.team();
      const stranger = await target.team();
      const made = await ready(team, target.template);
      const reference = `${team.slug}/${made.aliases[0]}`;
      await callFails(stranger, 'createSandboxV2', 404, { body: { templateID: reference } });
      const path = { templateID: made.templateID };
      assert.ok(
        (
          await callOk<{ names: string[] }>(team, 'updateTemplateV2', 200, { path, body: { public: true } })
        ).names.includes(reference),
      );
      const sandbox = await target.newSandbox({ templateID: reference }, stranger);
      await kill(stranger, sandbox.sandboxId);
      for (const operation of ['updateTemplate', 'updateTemplateV2'])
        await callFails(stranger, operation, 403, { path, body: { public: false } });
      await callOk(team, 'updateTemplateV2', 200, { path, body: {} });
    },
  ),
  check(
    'publishing claims the bare name, which only one may have',
    ['updateTemplate', '409', { needs: own }],
    async (target) => {
      const name = unique('public');
      const [one, two] = [await target.team(), await target.team()];
      const first = await create(one, { name });
      const second = await create(two, { name });
      await callOk(one, 'updateTemplate', 200, {
        path: { templateID: first.templateID },
        body: { public: true },
      });
      await callFails(two, 'updateTemplate', 409, {
        path: { templateID: second.templateID },
        body: { public: true },
      });
    },
  ),
];
