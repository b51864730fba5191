import assert from 'node:assert/strict';
import type { Draft } from '../../../case.js';
import { assertFailure, assertStatus, call } from '../../../wire/call.js';

/** The limit of sandboxes that run at once. */
export const concurrencyCases: Draft[] = [
  {
    name: 'more sandboxes than the team may run give 429 without Retry-After',
    operation: 'createSandboxV2',
    expects: '429 concurrency',
    needs: ['teams'],
    run: async (target) => {
      const team = await target.team({ limits: { maxConcurrentSandboxes: 1 } });
      const first = await target.newSandbox({}, team);
      const answer = await call(team, 'createSandboxV2', { body: { templateID: target.template } });
      assertFailure(answer, { status: 429, message: /1/ });
      assert.equal(answer.headers['retry-after'], undefined);
      assertStatus(await call(team, 'pauseSandbox', { path: { sandboxID: first.sandboxId } }), 204);
      const second = await target.newSandbox({}, team);
      for (const operation of ['resumeSandbox', 'connectSandboxV2'])
        assertFailure(await call(team, operation, { path: { sandboxID: first.sandboxId }, body: {} }), {
          status: 429,
        });
      assertStatus(await call(team, 'killSandbox', { path: { sandboxID: second.sandboxId } }), 204);
      assertStatus(await call(team, 'resumeSandbox', { path: { sandboxID: first.sandboxId } }), 201);
      assertStatus(await call(team, 'killSandbox', { path: { sandboxID: first.sandboxId } }), 204);
    },
  },
];
