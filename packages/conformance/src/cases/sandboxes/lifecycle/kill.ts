import assert from 'node:assert/strict';
import type { Draft } from '../../../case.js';
import { assertFailure, assertStatus, call } from '../../../wire/call.js';
import { daemonSend } from '../../../wire/rpc.js';
import { act, gone } from './calls.js';

/** The end of a sandbox, and the ids by which it is known until then. */
export const killCases: Draft[] = [
  {
    name: 'a killed sandbox is gone everywhere, a second kill gives 404',
    operation: 'killSandbox',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.newSandbox();
      assertStatus(await act(target, sandbox, 'killSandbox'), 204);
      await gone(target, sandbox);
      assertFailure(await act(target, sandbox, 'killSandbox'), { status: 404 });
      const list = assertStatus<{ sandboxID: string }[]>(await call(target, 'listSandboxesV2'), 200);
      assert.ok(!list.some((one) => one.sandboxID === sandbox.sandboxId));
      assert.equal((await daemonSend(sandbox, '/health')).status, 502);
    },
  },
  {
    name: 'the older form of the id is understood',
    operation: 'getSandbox',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.sandbox();
      const answer = await call(target, 'getSandbox', {
        path: { sandboxID: `${sandbox.sandboxId}-svc00000` },
      });
      assert.equal(assertStatus<{ sandboxID: string }>(answer, 200).sandboxID, sandbox.sandboxId);
    },
  },
];
