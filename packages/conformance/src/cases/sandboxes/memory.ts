import assert from 'node:assert/strict';
import { eventually } from '@svc/support/eventually';
import { casesOf, check } from '../../case.js';
import { unique } from '../../requests/samples.js';
import { detail, kill } from '../../requests/sandboxes.js';
import { callFails, callOk } from '../../wire/call.js';
import { type Daemon, unaryOk } from '../../wire/rpc.js';
import { run, startShell } from '../../wire/run.js';
import { F, type WatchEvent } from '../daemon/filesystem/shapes.js';

interface ForkEntry {
  sandbox?: { sandboxID: string; envdAccessToken: string; templateID: string };
  error?: { code: number };
}

/** Forks and snapshots with memory. */
export const memoryCases = casesOf('memory', [
  check(
    'forks continue from the memory of their source, each by itself',
    ['forkSandbox', 'success', { needs: ['memory'] }],
    async (target) => {
      const source = await target.newSandbox({ metadata: { family: 'yes' } });
      const counter = await startShell(
        source,
        'i=0; while true; do i=$((i+1)); echo $i > ~/count; sleep 0.1; done',
      );
      counter.leave();
      await run(source, 'until test -s ~/count; do sleep 0.05; done');
      const before = await detail(target, source.sandboxId);
      const entries = await callOk<ForkEntry[]>(target, 'forkSandbox', 201, {
        path: { sandboxID: source.sandboxId },
        body: { count: 2, timeout: 300 },
      });
      assert.equal(entries.length, 2);
      const after = await detail(target, source.sandboxId);
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
        const read = await detail(target, sandbox.sandboxID);
        assert.deepEqual(read.metadata, { family: 'yes' });
        await kill(target, sandbox.sandboxID);
      }
      await kill(target, source.sandboxId);
    },
  ),
  check(
    'a watcher that is polled sees in a fork what happens there',
    [`${F}/GetWatcherEvents`, 'success', { needs: ['memory'] }],
    async (target) => {
      const source = await target.newSandbox();
      await run(source, 'mkdir -p ~/watched/sub');
      const { watcherId } = await unaryOk<{ watcherId: string }>(source, `${F}/CreateWatcher`, {
        path: 'watched',
        recursive: true,
      });
      const [entry] = await callOk<ForkEntry[]>(target, 'forkSandbox', 201, {
        path: { sandboxID: source.sandboxId },
        body: { count: 1, timeout: 300 },
      });
      assert.ok(entry?.sandbox !== undefined, JSON.stringify(entry?.error));
      const fork = {
        sandboxUrl: target.sandboxUrl,
        sandboxId: entry.sandbox.sandboxID,
        accessToken: entry.sandbox.envdAccessToken,
      };
      const events = async (sandbox: Daemon) =>
        (await unaryOk<{ events?: WatchEvent[] }>(sandbox, `${F}/GetWatcherEvents`, { watcherId })).events ??
        [];
      for (const [sandbox, name] of [
        [fork, 'in-fork'],
        [source, 'in-source'],
      ] as const) {
        await run(sandbox, `touch ~/watched/sub/${name}`);
        await eventually(`the event of ${name}`, async () =>
          (await events(sandbox)).some((one) => one.name === `sub/${name}`),
        );
      }
      for (const { sandboxId } of [source, fork]) await kill(target, sandboxId);
    },
  ),
  check('counts of forks out of range are refused', ['forkSandbox', '400 count'], async (target) => {
    const { sandboxId } = await target.sandbox();
    for (const count of [0, 101, -1, 1.5, '2'])
      await callFails(target, 'forkSandbox', 400, { path: { sandboxID: sandboxId }, body: { count } });
  }),
  check(
    'a snapshot with memory starts others that continue from it',
    ['createSnapshot', 'success', { needs: ['memory'] }],
    async (target) => {
      const source = await target.newSandbox();
      const child = await startShell(source, 'exec sleep 1000');
      child.leave();
      const { snapshotID } = await callOk<{ snapshotID: string }>(target, 'createSnapshot', 201, {
        path: { sandboxID: source.sandboxId },
        body: { name: unique('memory') },
      });
      const copy = await target.newSandbox({ templateID: snapshotID });
      assert.equal((await run(copy, `kill -0 ${child.pid} && echo alive`)).stdout, 'alive\n');
      for (const { sandboxId } of [source, copy]) await kill(target, sandboxId);
    },
  ),
]);
