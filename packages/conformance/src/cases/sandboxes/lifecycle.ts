import assert from 'node:assert/strict';
import { eventually } from '@svc/runtime/testing';
import { casesOf, type Draft } from '../../case.js';
import type { Target, TestSandbox } from '../../targets/target.js';
import { type Api, assertFailure, assertStatus, call } from '../../wire/call.js';
import { daemonSend } from '../../wire/rpc.js';
import { run, startProcess } from '../daemon/run.js';

interface Detail {
  state: string;
  startedAt: string;
  endAt: string;
  envdAccessToken?: string;
  metadata?: Record<string, string>;
  network?: Record<string, unknown>;
}

export async function read(api: Api, sandbox: TestSandbox): Promise<Detail> {
  return assertStatus<Detail>(await call(api, 'getSandbox', { path: { sandboxID: sandbox.sandboxId } }), 200);
}

export const act = (api: Api, sandbox: TestSandbox, operation: string, body?: unknown) =>
  call(api, operation, { path: { sandboxID: sandbox.sandboxId }, ...(body === undefined ? {} : { body }) });

const gone = async (target: Target, sandbox: TestSandbox) =>
  assertFailure(await act(target, sandbox, 'getSandbox'), { status: 404 });

const left = (detail: Detail) => (Date.parse(detail.endAt) - Date.now()) / 1000;

/** Operations on a sandbox with a body that would succeed, and what they say about a paused one. */
const onPaused: Record<string, { body?: unknown; status: number }> = {
  pauseSandbox: { status: 409 },
  setSandboxTimeout: { body: { timeout: 60 }, status: 404 },
  refreshSandbox: { status: 404 },
  updateSandboxNetwork: { body: {}, status: 404 },
  createSnapshot: { body: {}, status: 404 },
  forkSandbox: { status: 409 },
};

const foreign = [
  'getSandbox',
  'killSandbox',
  'pauseSandbox',
  'resumeSandbox',
  'connectSandbox',
  'connectSandboxV2',
  'setSandboxTimeout',
  'refreshSandbox',
  'forkSandbox',
  'updateSandboxNetwork',
  'createSnapshot',
];
const BODY: Record<string, unknown> = {
  connectSandbox: { timeout: 30 },
  setSandboxTimeout: { timeout: 30 },
  updateSandboxNetwork: {},
  createSnapshot: {},
};

/** Kill, pause, resume, connect, timeout, refresh. */
export const lifecycleCases = casesOf('lifecycle', [
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
  ...foreign.map(
    (operation): Draft => ({
      name: `${operation} of another team's sandbox is answered as one that is not there`,
      operation,
      expects: '404 foreign',
      needs: ['teams'],
      run: async (target) => {
        const sandbox = await target.sandbox();
        const stranger = await target.team();
        const answer = await act(stranger, sandbox, operation, BODY[operation]);
        const unknown = await call(stranger, operation, {
          path: { sandboxID: 'i00000000000000000000' },
          ...(BODY[operation] === undefined ? {} : { body: BODY[operation] }),
        });
        const { message } = assertFailure(answer, { status: 404 });
        assert.equal(
          message.replace(sandbox.sandboxId, '?'),
          assertFailure(unknown, { status: 404 }).message.replace('i00000000000000000000', '?'),
        );
      },
    }),
  ),
  {
    name: 'pause keeps what runs, resume goes on with it',
    operation: 'pauseSandbox',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.newSandbox({
        metadata: { kept: 'yes' },
        network: { httpsPorts: [8_443] },
      });
      const before = await read(target, sandbox);
      await run(sandbox, 'echo kept > ~/kept.txt');
      const child = await startProcess(sandbox, {
        cmd: '/bin/sh',
        args: ['-c', 'while true; do sleep 0.2; done'],
      });
      child.leave();
      assertStatus(await act(target, sandbox, 'pauseSandbox'), 204);
      const paused = await read(target, sandbox);
      assert.equal(paused.state, 'paused');
      assert.equal(paused.envdAccessToken, before.envdAccessToken, 'reading a paused one gives the token');
      assert.ok(Date.parse(paused.endAt) <= Date.now() + 1_000, 'endAt is when it was paused');
      assert.equal((await daemonSend(sandbox, '/health')).status, 502);
      const answer = await act(target, sandbox, 'resumeSandbox', { timeout: 120 });
      const resumed = assertStatus<{ sandboxID: string; envdAccessToken: string }>(answer, 201);
      assert.equal(resumed.sandboxID, sandbox.sandboxId);
      assert.equal(resumed.envdAccessToken, sandbox.accessToken);
      const after = await read(target, sandbox);
      assert.equal(after.state, 'running');
      assert.deepEqual(after.metadata, { kept: 'yes' });
      assert.deepEqual(after.network?.httpsPorts, [8_443]);
      assert.ok(Date.parse(after.startedAt) >= Date.parse(before.startedAt), 'a run of its own');
      assert.ok(left(after) > 60 && left(after) <= 121, `ends after the given timeout: ${left(after)}`);
      assert.equal((await run(sandbox, 'cat ~/kept.txt')).stdout, 'kept\n');
      assert.equal((await run(sandbox, `kill -0 ${child.pid} && echo alive`)).stdout, 'alive\n');
      assertStatus(await act(target, sandbox, 'killSandbox'), 204);
    },
  },
  {
    name: 'pausing without memory keeps the files and boots afresh',
    operation: 'pauseSandbox',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.newSandbox({ envVars: { KEPT: 'yes' } });
      await run(sandbox, 'echo kept > ~/kept.txt');
      const child = await startProcess(sandbox, {
        cmd: '/bin/sh',
        args: ['-c', 'exec sleep 1000'],
        tag: 'sleeper',
      });
      child.leave();
      assertStatus(await act(target, sandbox, 'pauseSandbox', { memory: false }), 204);
      assert.equal((await read(target, sandbox)).state, 'paused');
      assertStatus(await act(target, sandbox, 'resumeSandbox', { timeout: 120 }), 201);
      assert.equal((await run(sandbox, 'cat ~/kept.txt; echo $KEPT')).stdout, 'kept\nyes\n');
      const listed = await daemonSend(sandbox, '/process.Process/List', {
        method: 'POST',
        body: '{}',
        headers: { 'Content-Type': 'application/json', 'Connect-Protocol-Version': '1' },
      });
      assert.deepEqual(listed.json(), {}, 'nothing runs after a cold boot');
      assertStatus(await act(target, sandbox, 'killSandbox'), 204);
    },
  },
  {
    name: 'several pauses at once share one',
    operation: 'pauseSandbox',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.newSandbox();
      const answers = await Promise.all([1, 2, 3, 4].map(() => act(target, sandbox, 'pauseSandbox')));
      // One that arrives after the end of the others finds it paused.
      for (const answer of answers) assert.ok(answer.status === 204 || answer.status === 409, answer.text);
      assert.ok(answers.some((answer) => answer.status === 204));
      assert.equal((await read(target, sandbox)).state, 'paused');
      assertStatus(await act(target, sandbox, 'killSandbox'), 204);
    },
  },
  {
    name: 'several resumes at once start it once',
    operation: 'resumeSandbox',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.newSandbox();
      assertStatus(await act(target, sandbox, 'pauseSandbox'), 204);
      const answers = await Promise.all(
        [1, 2, 3].map(() => act(target, sandbox, 'connectSandboxV2', { timeout: 60 })),
      );
      for (const answer of answers) assert.ok(answer.status === 201 || answer.status === 200, answer.text);
      assert.equal((await read(target, sandbox)).state, 'running');
      assertStatus(await act(target, sandbox, 'killSandbox'), 204);
    },
  },
  {
    name: 'a paused sandbox refuses what only a running one can do',
    operation: 'pauseSandbox',
    expects: '409',
    run: async (target) => {
      const sandbox = await target.newSandbox();
      assertStatus(await act(target, sandbox, 'pauseSandbox'), 204);
      for (const [operation, { body, status }] of Object.entries(onPaused))
        assertFailure(await act(target, sandbox, operation, body), { status });
      assertStatus(await act(target, sandbox, 'killSandbox'), 204);
      await gone(target, sandbox);
    },
  },
  {
    name: 'a running sandbox is not resumed again',
    operation: 'resumeSandbox',
    expects: '409',
    run: async (target) =>
      assertFailure(await act(target, await target.sandbox(), 'resumeSandbox'), { status: 409 }),
  },
  {
    name: 'resume takes its default of 15 seconds',
    operation: 'resumeSandbox',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.newSandbox();
      assertStatus(await act(target, sandbox, 'pauseSandbox'), 204);
      assertStatus(await act(target, sandbox, 'resumeSandbox'), 201);
      const detail = await read(target, sandbox);
      assert.equal((Date.parse(detail.endAt) - Date.parse(detail.startedAt)) / 1000, 15);
      await act(target, sandbox, 'killSandbox');
    },
  },
  ...[
    'resumeSandbox',
    'connectSandbox',
    'connectSandboxV2',
    'setSandboxTimeout',
    'forkSandbox',
    'refreshSandbox',
  ].map(
    (operation): Draft => ({
      name: `${operation} refuses times that make no sense`,
      operation,
      expects: '400 timeout',
      run: async (target) => {
        const sandbox = await target.sandbox();
        const field = operation === 'refreshSandbox' ? 'duration' : 'timeout';
        const bad = [-1, 1.5, '15', 2 ** 40];
        if (operation === 'resumeSandbox' || operation === 'connectSandboxV2') bad.push(0);
        if (operation === 'refreshSandbox') bad.push(3_601);
        for (const value of bad)
          assertFailure(await act(target, sandbox, operation, { [field]: value }), { status: 400 });
      },
    }),
  ),
  ...['resumeSandbox', 'connectSandbox', 'connectSandboxV2', 'forkSandbox'].map(
    (operation): Draft => ({
      name: `${operation} beyond the longest life gives 400`,
      operation,
      expects: '400 timeout',
      needs: ['teams'],
      run: async (target) => {
        const team = await target.team({ limits: { maxTimeToLiveSeconds: 3_600 } });
        const sandbox = await target.newSandbox({ timeout: 60 }, team);
        if (operation === 'resumeSandbox') assertStatus(await act(team, sandbox, 'pauseSandbox'), 204);
        assertFailure(await act(team, sandbox, operation, { timeout: 3_601 }), {
          status: 400,
          message: /hour/,
        });
        assertStatus(await act(team, sandbox, 'killSandbox'), 204);
      },
    }),
  ),
  {
    name: 'connect to a running sandbox only makes it live longer',
    operation: 'connectSandboxV2',
    expects: 'success',
    run: async (target) => {
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
      assertStatus(await act(target, sandbox, 'killSandbox'), 204);
    },
  },
  ...['connectSandbox', 'connectSandboxV2'].map(
    (operation): Draft => ({
      name: `${operation} resumes a paused sandbox with 201`,
      operation,
      expects: 'success 201',
      run: async (target) => {
        const sandbox = await target.newSandbox();
        assertStatus(await act(target, sandbox, 'pauseSandbox'), 204);
        const body = operation === 'connectSandbox' ? { timeout: 300 } : {};
        assertStatus(await act(target, sandbox, operation, body), 201);
        const detail = await read(target, sandbox);
        assert.equal((Date.parse(detail.endAt) - Date.parse(detail.startedAt)) / 1000, 300);
        assert.equal((await daemonSend(sandbox, '/health')).status, 204);
        assertStatus(await act(target, sandbox, 'killSandbox'), 204);
      },
    }),
  ),
  {
    name: 'the timeout is set from now, also to less',
    operation: 'setSandboxTimeout',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.newSandbox({ timeout: 600 });
      assertStatus(await act(target, sandbox, 'setSandboxTimeout', { timeout: 100 }), 204);
      const shorter = left(await read(target, sandbox));
      assert.ok(shorter > 30 && shorter <= 100, String(shorter));
      assertStatus(await act(target, sandbox, 'setSandboxTimeout', { timeout: 1_000 }), 204);
      assert.ok(left(await read(target, sandbox)) > 900);
      assertStatus(await act(target, sandbox, 'setSandboxTimeout', { timeout: 0 }), 204);
      await eventually('the end of a sandbox whose time is over', async () =>
        (await act(target, sandbox, 'getSandbox')).status === 404 ? true : undefined,
      );
    },
  },
  {
    name: 'the timeout is clamped to the longest life',
    operation: 'setSandboxTimeout',
    expects: 'success',
    needs: ['teams'],
    run: async (target) => {
      const team = await target.team({ limits: { maxTimeToLiveSeconds: 600 } });
      const sandbox = await target.newSandbox({ timeout: 300 }, team);
      assertStatus(await act(team, sandbox, 'setSandboxTimeout', { timeout: 3_600 }), 204);
      const detail = await read(team, sandbox);
      assert.equal((Date.parse(detail.endAt) - Date.parse(detail.startedAt)) / 1000, 600);
      assertStatus(await act(team, sandbox, 'refreshSandbox', { duration: 3_600 }), 204);
      assert.equal((await read(team, sandbox)).endAt, detail.endAt);
      assertStatus(await act(team, sandbox, 'killSandbox'), 204);
    },
  },
  {
    name: 'a refresh only extends, by 15 seconds at least',
    operation: 'refreshSandbox',
    expects: 'success',
    run: async (target) => {
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
      assertStatus(await act(target, sandbox, 'killSandbox'), 204);
    },
  },
  {
    name: 'a sandbox ends when its time is over',
    operation: 'createSandboxV2',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.newSandbox({ timeout: 1 });
      await eventually('the end', async () =>
        (await act(target, sandbox, 'getSandbox')).status === 404 ? true : undefined,
      );
      assert.equal((await daemonSend(sandbox, '/health')).status, 502);
    },
  },
  {
    name: 'with autoPause it is paused when its time is over',
    operation: 'createSandboxV2',
    expects: 'success',
    run: async (target) => {
      for (const autoPauseMemory of [true, false]) {
        const sandbox = await target.newSandbox({ timeout: 1, autoPause: true, autoPauseMemory });
        await eventually('the pause', async () =>
          (await read(target, sandbox)).state === 'paused' ? true : undefined,
        );
        assertStatus(await act(target, sandbox, 'connectSandboxV2', { timeout: 60 }), 201);
        assert.equal((await run(sandbox, 'echo back')).stdout, 'back\n');
        assertStatus(await act(target, sandbox, 'killSandbox'), 204);
      }
    },
  },
  {
    name: 'the network of a running sandbox is replaced',
    operation: 'updateSandboxNetwork',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.newSandbox({ network: { httpsPorts: [8_443], allowPublicTraffic: true } });
      const answer = await act(target, sandbox, 'updateSandboxNetwork', {});
      assertStatus(answer, 204);
      assert.deepEqual((await read(target, sandbox)).network?.httpsPorts, [8_443], 'the way in is untouched');
      assertStatus(await act(target, sandbox, 'killSandbox'), 204);
    },
  },
  {
    name: 'a network that makes no sense is refused',
    operation: 'updateSandboxNetwork',
    expects: '400',
    run: async (target) => {
      const sandbox = await target.sandbox();
      for (const body of [
        { denyOut: ['example.com'] },
        { allowOut: ['0.0.0.0'] },
        { allowOut: ['example.com'] },
        { rules: { '*': [] } },
        { denyOut: 'all' },
      ])
        assertFailure(await act(target, sandbox, 'updateSandboxNetwork', body), { status: 400 });
      assertFailure(
        await act(target, sandbox, 'updateSandboxNetwork', { egressProxy: { address: 'p.example.com:1' } }),
        {
          status: 403,
          message: /network\.egressProxy/,
        },
      );
    },
  },
]);
