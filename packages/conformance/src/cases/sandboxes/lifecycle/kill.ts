import assert from 'node:assert/strict';
import { check, type Draft } from '../../../case.js';
import { kill } from '../../../requests/sandboxes.js';
import { assertFailure, assertStatus, call, callOk } from '../../../wire/call.js';
import { daemonSend } from '../../../wire/rpc.js';
import { act, gone } from './calls.js';

/** The end of a sandbox, and the ids by which it is known until then. */
export const killCases: Draft[] = [
  check(
    'a killed sandbox is gone everywhere, a second kill gives 404',
    ['killSandbox', 'success'],
    async (target) => {
      const sandbox = await target.newSandbox();
      await kill(target, sandbox.sandboxId);
      await gone(target, sandbox);
      assertFailure(await act(target, sandbox, 'killSandbox'), { status: 404 });
      const list = await callOk<{ sandboxID: string }[]>(target, 'listSandboxesV2', 200);
      assert.ok(!list.some((one) => one.sandboxID === sandbox.sandboxId));
      assert.equal((await daemonSend(sandbox, '/health')).status, 502);
    },
  ),
  check('the older form of the id is understood', ['getSandbox', 'success'], async (target) => {
    const sandbox = await target.sandbox();
    const answer = await call(target, 'getSandbox', {
      path: { sandboxID: `${sandbox.sandboxId}-svc00000` },
    });
    assert.equal(assertStatus<{ sandboxID: string }>(answer, 200).sandboxID, sandbox.sandboxId);
  }),
];
