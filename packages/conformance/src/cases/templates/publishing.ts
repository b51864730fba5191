import assert from 'node:assert/strict';
import type { Draft } from '../../case.js';
import { unique } from '../../requests/samples.js';
import { assertFailure, assertStatus, call } from '../../wire/call.js';
import { create, own, ready } from './calls.js';

/** Public and private templates. */
export const publishingCases: Draft[] = [
  {
    name: 'a public template serves others, a private one does not',
    operation: 'updateTemplateV2',
    expects: 'success',
    needs: own,
    timeoutMs: 120_000,
    run: async (target) => {
      const team = await target.team();
      const stranger = await target.team();
      const made = await ready(team, target.template);
      const reference = `${team.slug}/${made.aliases[0]}`;
      assertFailure(await call(stranger, 'createSandboxV2', { body: { templateID: reference } }), {
        status: 404,
      });
      const path = { templateID: made.templateID };
      assert.ok(
        assertStatus<{ names: string[] }>(
          await call(team, 'updateTemplateV2', { path, body: { public: true } }),
          200,
        ).names.includes(reference),
      );
      const sandbox = await target.newSandbox({ templateID: reference }, stranger);
      assertStatus(await call(stranger, 'killSandbox', { path: { sandboxID: sandbox.sandboxId } }), 204);
      for (const operation of ['updateTemplate', 'updateTemplateV2'])
        assertFailure(await call(stranger, operation, { path, body: { public: false } }), { status: 403 });
      assertStatus(await call(team, 'updateTemplateV2', { path, body: {} }), 200);
    },
  },
  {
    name: 'publishing claims the bare name, which only one may have',
    operation: 'updateTemplate',
    expects: '409',
    needs: own,
    timeoutMs: 120_000,
    run: async (target) => {
      const name = unique('public');
      const [one, two] = [await target.team(), await target.team()];
      const first = await create(one, { name });
      const second = await create(two, { name });
      assertStatus(
        await call(one, 'updateTemplate', { path: { templateID: first.templateID }, body: { public: true } }),
        200,
      );
      assertFailure(
        await call(two, 'updateTemplate', {
          path: { templateID: second.templateID },
          body: { public: true },
        }),
        { status: 409 },
      );
    },
  },
];
