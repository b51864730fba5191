import assert from 'node:assert/strict';
import { check, type Draft } from '../../../case.js';
import { kill } from '../../../requests/sandboxes.js';
import { assertFailure, assertStatus } from '../../../wire/call.js';
import { daemonSend } from '../../../wire/rpc.js';
import { run, startShell } from '../../../wire/run.js';
import { act, gone, left, read } from './calls.js';

/** Operations on a sandbox with a body that would succeed, and what they say about a paused one. */
const onPaused: Record<string, { body?: unknown; status: number }> = {
  pauseSandbox: { status: 409 },
  setSandboxTimeout: { body: { timeout: 60 }, status: 404 },
  refreshSandbox: { status: 404 },
  updateSandboxNetwork: { body: {}, status: 404 },
  createSnapshot: { body: {}, status: 404 },
  forkSandbox: { status: 409 },
};

/** Pause and resume. */
export const pauseCases: Draft[] = [
  check('pause keeps what runs, resume continues it', ['pauseSandbox', 'success'], async (target) => {
    const sandbox = await target.newSandbox({
      metadata: { kept: 'yes' },
      network: { httpsPorts: [8_443] },
    });
    const before = await read(target, sandbox);
    await run(sandbox, 'echo kept > ~/kept.txt');
    const child = await startShell(sandbox, 'while true; do sleep 0.2; done');
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
    await kill(target, sandbox.sandboxId);
  }),
  check(
    'pausing without memory keeps the files and boots afresh',
    ['pauseSandbox', 'success'],
    async (target) => {
      const sandbox = await target.newSandbox({ envVars: { KEPT: 'yes' } });
      await run(sandbox, 'echo kept > ~/kept.txt');
      const child = await startShell(sandbox, 'exec sleep 1000', { tag: 'sleeper' });
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
      await kill(target, sandbox.sandboxId);
    },
  ),
  check('several pauses at once share one', ['pauseSandbox', 'success'], async (target) => {
    const sandbox = await target.newSandbox();
    const answers = await Promise.all([1, 2, 3, 4].map(() => act(target, sandbox, 'pauseSandbox')));
    // One that arrives after the end of the others finds it paused.
    for (const answer of answers) assert.ok(answer.status === 204 || answer.status === 409, answer.text);
    assert.ok(answers.some((answer) => answer.status === 204));
    assert.equal((await read(target, sandbox)).state, 'paused');
    await kill(target, sandbox.sandboxId);
  }),
  check('several resumes at once start it once', ['resumeSandbox', 'success'], async (target) => {
    const sandbox = await target.newSandbox();
    assertStatus(await act(target, sandbox, 'pauseSandbox'), 204);
    const answers = await Promise.all(
      [1, 2, 3].map(() => act(target, sandbox, 'connectSandboxV2', { timeout: 60 })),
    );
    for (const answer of answers) assert.ok(answer.status === 201 || answer.status === 200, answer.text);
    assert.equal((await read(target, sandbox)).state, 'running');
    await kill(target, sandbox.sandboxId);
  }),
  check(
    'a paused sandbox refuses what only a running one can do',
    ['pauseSandbox', '409'],
    async (target) => {
      const sandbox = await target.newSandbox();
      assertStatus(await act(target, sandbox, 'pauseSandbox'), 204);
      for (const [operation, { body, status }] of Object.entries(onPaused))
        assertFailure(await act(target, sandbox, operation, body), { status });
      await kill(target, sandbox.sandboxId);
      await gone(target, sandbox);
    },
  ),
  check('a running sandbox is not resumed again', ['resumeSandbox', '409'], async (target) =>
    assertFailure(await act(target, await target.sandbox(), 'resumeSandbox'), { status: 409 }),
  ),
  check('resume takes its default of 15 seconds', ['resumeSandbox', 'success'], async (target) => {
    const sandbox = await target.newSandbox();
    assertStatus(await act(target, sandbox, 'pauseSandbox'), 204);
    assertStatus(await act(target, sandbox, 'resumeSandbox'), 201);
    const detail = await read(target, sandbox);
    assert.equal((Date.parse(detail.endAt) - Date.parse(detail.startedAt)) / 1000, 15);
    await act(target, sandbox, 'killSandbox');
  }),
];
