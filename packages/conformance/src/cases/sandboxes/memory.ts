import assert from 'node:assert/strict';
import { casesOf } from '../../case.js';
import { unique } from '../../requests/samples.js';
import { assertFailure, assertStatus, call } from '../../wire/call.js';
import { run, startProcess } from '../../wire/run.js';

interface ForkEntry {
  sandbox?: { sandboxID: string; envdAccessToken: string; templateID: string };
  error?: { code: number };
}

/** Forks and snapshots with memory. */
export const memoryCases = casesOf('memory', [
  {
    name: 'forks go on from the memory of their source, each by itself',
    operation: 'forkSandbox',
    expects: 'success',
    needs: ['memory'],
    timeoutMs: 180_000,
    run: async (target) => {
      const source = await target.newSandbox({ metadata: { family: 'yes' } });
      const counter = await startProcess(source, {
        cmd: '/bin/sh',
        args: ['-c', 'i=0; while true; do i=$((i+1)); echo $i > ~/count; sleep 0.1; done'],
      });
      counter.leave();
      await run(source, 'until test -s ~/count; do sleep 0.05; done');
      const before = assertStatus<{ endAt: string }>(
        await call(target, 'getSandbox', { path: { sandboxID: source.sandboxId } }),
        200,
      );
      const entries = assertStatus<ForkEntry[]>(
        await call(target, 'forkSandbox', {
          path: { sandboxID: source.sandboxId },
          body: { count: 2, timeout: 300 },
        }),
        201,
      );
      assert.equal(entries.length, 2);
      const after = assertStatus<{ endAt: string; state: string }>(
        await call(target, 'getSandbox', { path: { sandboxID: source.sandboxId } }),
        200,
      );
      assert.equal(after.endAt, before.endAt);
      assert.equal(after.state, 'running');
      for (const { sandbox, error } of entries) {
        assert.ok(sandbox !== undefined && error === undefined, JSON.stringify(error));
        assert.notEqual(sandbox.envdAccessToken, source.accessToken);
        const fork = {
          sandboxUrl: target.sandboxUrl,
          sandboxId: sandbox.sandboxID,
          accessToken: sandbox.envdAccessToken,
        };
        const { stdout } = await run(
          fork,
          `kill -0 ${counter.pid} && a=$(cat ~/count) && for try in $(seq 300); do b=$(cat ~/count); test "\${b:-0}" -gt "\${a:-0}" && echo counts on && break; sleep 0.1; done`,
        );
        assert.equal(stdout, 'counts on\n');
        const read = assertStatus<{ metadata: object }>(
          await call(target, 'getSandbox', { path: { sandboxID: sandbox.sandboxID } }),
          200,
        );
        assert.deepEqual(read.metadata, { family: 'yes' });
        assertStatus(await call(target, 'killSandbox', { path: { sandboxID: sandbox.sandboxID } }), 204);
      }
      assertStatus(await call(target, 'killSandbox', { path: { sandboxID: source.sandboxId } }), 204);
    },
  },
  {
    name: 'counts of forks out of range are refused',
    operation: 'forkSandbox',
    expects: '400 count',
    run: async (target) => {
      const { sandboxId } = await target.sandbox();
      for (const count of [0, 101, -1, 1.5, '2'])
        assertFailure(
          await call(target, 'forkSandbox', { path: { sandboxID: sandboxId }, body: { count } }),
          { status: 400 },
        );
    },
  },
  {
    name: 'a snapshot with memory starts others that go on from it',
    operation: 'createSnapshot',
    expects: 'success',
    needs: ['memory'],
    timeoutMs: 180_000,
    run: async (target) => {
      const source = await target.newSandbox();
      const child = await startProcess(source, { cmd: '/bin/sh', args: ['-c', 'exec sleep 1000'] });
      child.leave();
      const { snapshotID } = assertStatus<{ snapshotID: string }>(
        await call(target, 'createSnapshot', {
          path: { sandboxID: source.sandboxId },
          body: { name: unique('memory') },
        }),
        201,
      );
      const copy = await target.newSandbox({ templateID: snapshotID });
      assert.equal((await run(copy, `kill -0 ${child.pid} && echo alive`)).stdout, 'alive\n');
      for (const { sandboxId } of [source, copy])
        assertStatus(await call(target, 'killSandbox', { path: { sandboxID: sandboxId } }), 204);
    },
  },
]);
