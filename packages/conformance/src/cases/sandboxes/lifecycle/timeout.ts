import assert from 'node:assert/strict';
import { eventually } from '@svc/support/eventually';
import { check, type Draft } from '../../../case.js';
import { kill } from '../../../requests/sandboxes.js';
import { assertStatus } from '../../../wire/call.js';
import { daemonSend } from '../../../wire/rpc.js';
import { run } from '../../../wire/run.js';
import { act, left, read } from './calls.js';

/** The time to live of a sandbox, and its end. */
export const timeoutCases: Draft[] = [
  check('the timeout is set from now, also to less', ['setSandboxTimeout', 'success'], async (target) => {
    const sandbox = await target.newSandbox({ timeout: 600 });
    assertStatus(await act(target, sandbox, 'setSandboxTimeout', { timeout: 100 }), 204);
    const shorter = left(await read(target, sandbox));
    assert.ok(shorter > 30 && shorter <= 100, String(shorter));
    assertStatus(await act(target, sandbox, 'setSandboxTimeout', { timeout: 1_000 }), 204);
    assert.ok(left(await read(target, sandbox)) > 900);
    assertStatus(await act(target, sandbox, 'setSandboxTimeout', { timeout: 0 }), 204);
    await eventually(
      'the end of a sandbox whose time is over',
      async () => (await act(target, sandbox, 'getSandbox')).status === 404,
    );
  }),
  check(
    'a run is never extended past its longest life',
    ['setSandboxTimeout', 'success', { needs: ['teams'] }],
    async (target) => {
      const team = await target.team({ limits: { maxTimeToLiveSeconds: 600 } });
      const sandbox = await target.newSandbox({ timeout: 300 }, team);
      assertStatus(await act(team, sandbox, 'setSandboxTimeout', { timeout: 600 }), 204);
      const detail = await read(team, sandbox);
      assert.equal((Date.parse(detail.endAt) - Date.parse(detail.startedAt)) / 1000, 600);
      assertStatus(await act(team, sandbox, 'refreshSandbox', { duration: 600 }), 204);
      assert.equal((await read(team, sandbox)).endAt, detail.endAt);
      await kill(team, sandbox.sandboxId);
    },
  ),
  check('a refresh only extends, by 15 seconds at least', ['refreshSandbox', 'success'], async (target) => {
    const sandbox = await target.newSandbox({ timeout: 300 });
    const before = await read(target, sandbox);
    for (const body of [undefined, {}, { duration: 0 }, { duration: 100 }]) {
      const answer = await act(target, sandbox, 'refreshSandbox', body);
      assertStatus(answer, 204);
      assert.equal(answer.text, '');
      assert.equal((await read(target, sandbox)).endAt, before.endAt);
    }
    assertStatus(await act(target, sandbox, 'refreshSandbox', { duration: 3_600 }), 204);
    assert.ok(left(await read(target, sandbox)) > 3_500);
    await kill(target, sandbox.sandboxId);
  }),
  check('a sandbox ends when its time is over', ['createSandboxV2', 'success'], async (target) => {
    const sandbox = await target.newSandbox({ timeout: 1 });
    await eventually('the end', async () => (await act(target, sandbox, 'getSandbox')).status === 404);
    assert.equal((await daemonSend(sandbox, '/health')).status, 502);
  }),
  check(
    'with autoPause it is paused when its time is over',
    ['createSandboxV2', 'success'],
    async (target) => {
      for (const autoPauseMemory of [true, false]) {
        const sandbox = await target.newSandbox({ timeout: 1, autoPause: true, autoPauseMemory });
        await eventually('the pause', async () => (await read(target, sandbox)).state === 'paused');
        assertStatus(await act(target, sandbox, 'connectSandboxV2', { timeout: 60 }), 201);
        assert.equal((await run(sandbox, 'echo back')).stdout, 'back\n');
        await kill(target, sandbox.sandboxId);
      }
    },
  ),
];
