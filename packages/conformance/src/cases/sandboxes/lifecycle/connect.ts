import assert from 'node:assert/strict';
import { check, type Draft } from '../../../case.js';
import { kill } from '../../../requests/sandboxes.js';
import { assertStatus } from '../../../wire/call.js';
import { daemonSend } from '../../../wire/rpc.js';
import { act, left, read } from './calls.js';

/** Connecting to sandboxes that run, and to those that are paused. */
export const connectCases: Draft[] = [
  check(
    'connect to a running sandbox only makes it live longer',
    ['connectSandboxV2', 'success'],
    async (target) => {
      const sandbox = await target.newSandbox({ timeout: 300 });
      const before = await read(target, sandbox);
      const same = assertStatus<{ envdAccessToken: string }>(
        await act(target, sandbox, 'connectSandboxV2', { timeout: 10 }),
        200,
      );
      assert.equal(same.envdAccessToken, sandbox.accessToken);
      assert.equal((await read(target, sandbox)).endAt, before.endAt, 'never shortened');
      assertStatus(await act(target, sandbox, 'connectSandboxV2', { timeout: 1_000 }), 200);
      assert.ok(left(await read(target, sandbox)) > 900);
      assertStatus(await act(target, sandbox, 'connectSandbox', { timeout: 2_000 }), 200);
      assert.ok(left(await read(target, sandbox)) > 1_900);
      await kill(target, sandbox.sandboxId);
    },
  ),
  ...['connectSandbox', 'connectSandboxV2'].map((operation) =>
    check(`${operation} resumes a paused sandbox with 201`, [operation, 'success 201'], async (target) => {
      const sandbox = await target.newSandbox();
      assertStatus(await act(target, sandbox, 'pauseSandbox'), 204);
      const body = operation === 'connectSandbox' ? { timeout: 300 } : {};
      assertStatus(await act(target, sandbox, operation, body), 201);
      const detail = await read(target, sandbox);
      assert.equal((Date.parse(detail.endAt) - Date.parse(detail.startedAt)) / 1000, 300);
      assert.equal((await daemonSend(sandbox, '/health')).status, 204);
      await kill(target, sandbox.sandboxId);
    }),
  ),
];
