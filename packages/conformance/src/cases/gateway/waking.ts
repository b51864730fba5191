import assert from 'node:assert/strict';
import type { Draft } from '../../case.js';
import { assertRecord, knock, to } from '../../requests/knock.js';
import { assertStatus, call } from '../../wire/call.js';
import { daemon } from '../../wire/documents.js';
import { stream } from '../../wire/rpc.js';
import { startMessage } from '../../wire/run.js';
import { http } from '../daemon/files/calls.js';

/** Of the daemon: each of them wakes. */
const routes = [...daemon.operations.keys()];

/** Requests to sandboxes that are paused, or about to be. */
export const wakingCases: Draft[] = [
  {
    name: 'a pause ends open streams with unavailable at a frame boundary',
    operation: 'gateway',
    expects: 'unavailable',
    run: async (target) => {
      const sandbox = await target.newSandbox();
      const rpc = await stream(
        sandbox,
        'process.Process/Start',
        startMessage({ cmd: '/bin/sh', args: ['-c', 'exec sleep 100'] }),
      );
      assert.ok((await rpc.messages.next()).done !== true);
      assertStatus(await call(target, 'pauseSandbox', { path: { sandboxID: sandbox.sandboxId } }), 204);
      for await (const _ of rpc.messages);
      assert.equal(rpc.end()?.error?.code, 'unavailable');
      assert.equal(rpc.end()?.error?.message, 'The sandbox was paused');
      assertStatus(await call(target, 'killSandbox', { path: { sandboxID: sandbox.sandboxId } }), 204);
    },
  },
  {
    name: 'a request wakes a sandbox that may wake, with the right token only',
    operation: 'gateway',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.newSandbox({
        timeout: 60,
        autoPause: true,
        autoResume: { enabled: true },
      });
      const id = sandbox.sandboxId;
      const state = async () =>
        assertStatus<{ state: string; startedAt: string; endAt: string }>(
          await call(target, 'getSandbox', { path: { sandboxID: id } }),
          200,
        );
      assertStatus(await call(target, 'pauseSandbox', { path: { sandboxID: id } }), 204);
      const preflight = await knock(
        target,
        { ...to(id, 49_983), Origin: 'https://a.example.com', 'Access-Control-Request-Method': 'POST' },
        '/',
        { method: 'OPTIONS' },
      );
      assert.equal(preflight.status, 204);
      assert.equal((await state()).state, 'paused', 'a preflight wakes nobody');
      assertRecord(await knock(target, { ...to(id, 49_983), 'X-Access-Token': 'wrong' }, '/envs'), 403);
      assert.equal((await state()).state, 'paused');
      const envs = await knock(target, { ...to(id, 49_983), 'X-Access-Token': sandbox.accessToken }, '/envs');
      assert.equal(envs.status, 200, 'the request is answered by the sandbox that woke');
      const woken = await state();
      assert.equal(woken.state, 'running');
      assert.equal((Date.parse(woken.endAt) - Date.parse(woken.startedAt)) / 1000, 300, 'at least 300 s');
      assertStatus(await call(target, 'killSandbox', { path: { sandboxID: id } }), 204);
    },
  },
  {
    name: 'waking beyond the limit of the team gives 429',
    operation: 'gateway',
    expects: '429',
    needs: ['teams'],
    run: async (target) => {
      const team = await target.team({ limits: { maxConcurrentSandboxes: 1 } });
      const sleeper = await target.newSandbox({ autoPause: true, autoResume: { enabled: true } }, team);
      assertStatus(await call(team, 'pauseSandbox', { path: { sandboxID: sleeper.sandboxId } }), 204);
      const other = await target.newSandbox({}, team);
      assertRecord(
        await knock(
          target,
          { ...to(sleeper.sandboxId, 49_983), 'X-Access-Token': sleeper.accessToken },
          '/envs',
        ),
        429,
      );
      for (const id of routes) assert.equal((await http(sleeper, id)).status, 429, id);
      for (const one of [sleeper, other])
        await call(team, 'killSandbox', { path: { sandboxID: one.sandboxId } });
    },
  },
  {
    name: 'a blocked team does not wake its sandboxes',
    operation: 'gateway',
    expects: '403 blocked',
    needs: ['teams'],
    run: async (target) => {
      const team = await target.team();
      const sleeper = await target.newSandbox({ autoPause: true, autoResume: { enabled: true } }, team);
      assertStatus(await call(team, 'pauseSandbox', { path: { sandboxID: sleeper.sandboxId } }), 204);
      await team.block('unpaid');
      assertRecord(
        await knock(
          target,
          { ...to(sleeper.sandboxId, 49_983), 'X-Access-Token': sleeper.accessToken },
          '/envs',
        ),
        403,
      );
      for (const id of routes) assert.equal((await http(sleeper, id)).status, 403, id);
      assertStatus(await call(team, 'killSandbox', { path: { sandboxID: sleeper.sandboxId } }), 204);
    },
  },
];
