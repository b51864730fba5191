import assert from 'node:assert/strict';
import { casesOf, check, type Draft } from '../../case.js';
import { kill, pause } from '../../requests/sandboxes.js';
import { assertFailure, call, callFails, callOk } from '../../wire/call.js';
import { bothVersionCases } from './create/both-versions.js';
import { egressCases } from './create/egress.js';
import { idempotencyCases } from './create/idempotency.js';
import { optionCases } from './create/options.js';

/** The limit of sandboxes that run at once. */
const concurrencyCases: Draft[] = [
  check(
    'more sandboxes than the team may run give 429 without Retry-After',
    ['createSandboxV2', '429 concurrency', { needs: ['teams'] }],
    async (target) => {
      const team = await target.team({ limits: { maxConcurrentSandboxes: 1 } });
      const first = await target.newSandbox({}, team);
      const answer = await call(team, 'createSandboxV2', { body: { templateID: target.template } });
      assertFailure(answer, { status: 429, message: /1/ });
      assert.equal(answer.headers['retry-after'], undefined);
      await pause(team, first.sandboxId);
      const second = await target.newSandbox({}, team);
      for (const operation of ['resumeSandbox', 'connectSandboxV2'])
        await callFails(team, operation, 429, { path: { sandboxID: first.sandboxId }, body: {} });
      await kill(team, second.sandboxId);
      await callOk(team, 'resumeSandbox', 201, { path: { sandboxID: first.sandboxId } });
      await kill(team, first.sandboxId);
    },
  ),
];

/** Creating sandboxes, both versions. */
export const createCases = casesOf('create', [
  ...bothVersionCases,
  ...egressCases,
  ...optionCases,
  ...concurrencyCases,
  ...idempotencyCases,
]);
