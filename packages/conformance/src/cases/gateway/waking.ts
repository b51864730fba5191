import assert from 'node:assert/strict';
import { check, type Draft } from '../../case.js';
import { assertRecord, knock, to } from '../../requests/knock.js';
import { detail, kill, pause } from '../../requests/sandboxes.js';
import type { Target, TestSandbox } from '../../targets/target.js';
import { type Api, call } from '../../wire/call.js';
import { daemon } from '../../wire/documents.js';
import { stream } from '../../wire/rpc.js';
import { startMessage } from '../../wire/run.js';
import { http } from '../daemon/files/calls.js';

/** Of the daemon: each of them wakes. */
const routes = [...daemon.operations.keys()];

/** A paused sandbox of the team that a request may wake. */
async function asleep(target: Target, team: Api): Promise<TestSandbox> {
  const sandbox = await target.newSandbox({ autoPause: true, autoResume: { enabled: true } }, team);
  await pause(team, sandbox.sandboxId);
  return sandbox;
}

/** Every route of its daemon is answered by the gateway instead. */
async function staysAsleep(target: Target, sandbox: TestSandbox, status: number): Promise<void> {
  const headers = { ...to(sandbox.sandboxId, 49_983), 'X-Access-Token': sandbox.accessToken };
  assertRecord(await knock(target, headers, '/envs'), status);
  for (const id of routes) assert.equal((await http(sandbox, id)).status, status, id);
}

/** Requests to sandboxes that are paused, or about to be. */
export const wakingCases: Draft[] = [
  check(
    'a pause ends open streams with unavailable at a frame boundary',
    ['gateway', 'unavailable'],
    async (target) => {
      const sandbox = await target.newSandbox();
      const rpc = await stream(
        sandbox,
        'process.Process/Start',
        startMessage({ cmd: '/bin/sh', args: ['-c', 'exec sleep 100'] }),
      );
      assert.ok((await rpc.messages.next()).done !== true);
      await pause(target, sandbox.sandboxId);
      for await (const _ of rpc.messages);
      assert.equal(rpc.end()?.error?.code, 'unavailable');
      assert.equal(rpc.end()?.error?.message, 'The sandbox was paused');
      await kill(target, sandbox.sandboxId);
    },
  ),
  check(
    'a request wakes a sandbox that may wake, with the right token only',
    ['gateway', 'success'],
    async (target) => {
      const sandbox = await target.newSandbox({
        timeout: 60,
        autoPause: true,
        autoResume: { enabled: true },
      });
      const id = sandbox.sandboxId;
      const state = () => detail(target, id);
      await pause(target, id);
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
      await kill(target, id);
    },
  ),
  check(
    'waking beyond the limit of the team gives 429',
    ['gateway', '429', { needs: ['teams'] }],
    async (target) => {
      const team = await target.team({ limits: { maxConcurrentSandboxes: 1 } });
      const sleeper = await asleep(target, team);
      const other = await target.newSandbox({}, team);
      await staysAsleep(target, sleeper, 429);
      for (const one of [sleeper, other])
        await call(team, 'killSandbox', { path: { sandboxID: one.sandboxId } });
    },
  ),
  check(
    'a blocked team does not wake its sandboxes',
    ['gateway', '403 blocked', { needs: ['teams'] }],
    async (target) => {
      const team = await target.team();
      const sleeper = await asleep(target, team);
      await team.block('unpaid');
      await staysAsleep(target, sleeper, 403);
      await kill(team, sleeper.sandboxId);
    },
  ),
];
