import assert from 'node:assert/strict';
import { eventually } from '@svc/support/eventually';
import { casesOf } from '../../case.js';
import { unique, unknownIds } from '../../requests/samples.js';
import { assertFailure, assertStatus, call } from '../../wire/call.js';
import { run } from '../../wire/run.js';

interface Entry {
  timestamp: string;
  level: string;
  message: string;
  fields: Record<string, string>;
}

/** Logs, metrics and what left a sandbox. */
export const observationCases = casesOf('observation', [
  {
    name: 'nothing left a sandbox that was just made',
    operation: 'getSandboxEgress',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.newSandbox();
      const answer = await call(target, 'getSandboxEgress', { path: { sandboxID: sandbox.sandboxId } });
      const counts = { allowed: 0, denied: 0, failed: 0, bytesSent: 0, bytesReceived: 0 };
      assert.deepEqual(assertStatus(answer, 200), { totals: counts, destinations: [], dropped: 0 });
    },
  },
  {
    name: 'logs are read in both directions, by level, by text, by page',
    operation: 'getSandboxLogsV2',
    expects: 'success',
    run: async (target) => {
      const sandbox = await target.newSandbox();
      const word = unique('line');
      await run(sandbox, `for i in 1 2 3; do echo ${word}-$i; sleep 0.05; done; echo ${word}-bad >&2`);
      const path = { sandboxID: sandbox.sandboxId };
      const logs = async (query: Record<string, string | number> = {}) =>
        assertStatus<{ logs: Entry[] }>(await call(target, 'getSandboxLogsV2', { path, query }), 200).logs;
      const forward = await eventually('all four lines', async () => {
        const found = await logs({ direction: 'forward' });
        return found.length >= 4 ? found : undefined;
      });
      assert.equal(forward.filter((one) => one.message.startsWith(word)).length, 4);
      const backward = await logs();
      assert.deepEqual(
        backward.map((one) => one.message),
        forward.map((one) => one.message).reverse(),
        'newest first by default',
      );
      assert.deepEqual(
        (await logs({ level: 'error' })).map((one) => one.message),
        [`${word}-bad`],
      );
      assert.deepEqual(
        (await logs({ search: `${word}-2` })).map((one) => one.message),
        [`${word}-2`],
      );
      assert.equal((await logs({ search: word.toUpperCase() })).length, 0, 'case counts');
      assert.equal((await logs({ limit: 2, direction: 'forward' })).length, 2);
      assert.deepEqual(await logs({ limit: 0 }), []);
      const third = forward[2]!;
      const from = await logs({ direction: 'forward', cursor: Date.parse(third.timestamp) });
      assert.ok(from.every((one) => Date.parse(one.timestamp) >= Date.parse(third.timestamp)));
      assert.ok(forward.every((one) => one.fields.pid !== undefined));
      const v1 = assertStatus<{ logs: { line: string }[]; logEntries: Entry[] }>(
        await call(target, 'getSandboxLogs', { path }),
        200,
      );
      assert.deepEqual(
        v1.logs.map((one) => one.line),
        forward.map((one) => one.message),
      );
      assert.equal(v1.logEntries.length, forward.length);
      assertStatus(await call(target, 'killSandbox', { path }), 204);
      assert.equal((await logs({ search: word })).length, 4, 'logs outlive the sandbox');
    },
  },
  {
    name: 'queries of logs out of range are refused',
    operation: 'getSandboxLogsV2',
    expects: '400',
    run: async (target) => {
      const path = { sandboxID: (await target.sandbox()).sandboxId };
      const bad = [
        { limit: -1 },
        { limit: 1_001 },
        { cursor: -1 },
        { cursor: 'x' },
        { direction: 'up' },
        { level: 'loud' },
        { search: 'x'.repeat(257) },
      ];
      for (const query of bad as Record<string, string>[])
        assertFailure(await call(target, 'getSandboxLogsV2', { path, query }), { status: 400 });
      for (const query of [{ limit: -1 }, { limit: 1_001 }, { start: -1 }])
        assertFailure(await call(target, 'getSandboxLogs', { path, query }), { status: 400 });
    },
  },
  {
    name: 'logs of what is not there, or of somebody else, are empty',
    operation: 'getSandboxLogsV2',
    expects: 'success',
    run: async (target) => {
      const path = { sandboxID: unknownIds.sandboxID };
      assert.deepEqual(assertStatus(await call(target, 'getSandboxLogsV2', { path }), 200), { logs: [] });
      assert.deepEqual(assertStatus(await call(target, 'getSandboxLogs', { path }), 200), {
        logs: [],
        logEntries: [],
      });
    },
  },
  {
    name: 'metrics come for one sandbox and for many',
    operation: 'listSandboxesMetrics',
    expects: 'success',
    run: async (target) => {
      const { sandboxId } = await target.sandbox();
      const one = await eventually('a sample', async () => {
        const found = assertStatus<Record<string, number>[]>(
          await call(target, 'getSandboxMetrics', { path: { sandboxID: sandboxId } }),
          200,
        );
        return found.at(-1);
      });
      for (const name of [
        'timestampUnix',
        'cpuCount',
        'cpuUsedPct',
        'memUsed',
        'memTotal',
        'memCache',
        'diskUsed',
        'diskTotal',
      ])
        assert.equal(typeof one[name], 'number', name);
      const many = assertStatus<{ sandboxes: Record<string, unknown> }>(
        await call(target, 'listSandboxesMetrics', {
          query: { sandbox_ids: `${sandboxId},${unknownIds.sandboxID}` },
        }),
        200,
      );
      assert.deepEqual(Object.keys(many.sandboxes), [sandboxId], 'what has no data is absent');
      const later = Math.floor(Date.now() / 1000) + 1_000;
      assert.deepEqual(
        assertStatus(
          await call(target, 'getSandboxMetrics', {
            path: { sandboxID: sandboxId },
            query: { start: later },
          }),
          200,
        ),
        [],
      );
    },
  },
  {
    name: 'metrics of more than 100, of none, twice of one, of a bad id are refused',
    operation: 'listSandboxesMetrics',
    expects: '400',
    run: async (target) => {
      const many = Array.from({ length: 101 }, (_, index) => `i${String(index).padStart(20, '0')}`);
      for (const sandbox_ids of [many.join(','), undefined, `${many[0]},${many[0]}`, 'BAD_ID'])
        assertFailure(await call(target, 'listSandboxesMetrics', { query: { sandbox_ids } }), {
          status: 400,
        });
      assertStatus(
        await call(target, 'listSandboxesMetrics', { query: { sandbox_ids: many.slice(1).join(',') } }),
        200,
      );
    },
  },
  {
    name: 'a span of metrics that ends before it starts is refused',
    operation: 'getSandboxMetrics',
    expects: '400',
    run: async (target) => {
      const path = { sandboxID: (await target.sandbox()).sandboxId };
      for (const query of [{ start: 20, end: 10 }, { start: -1 }, { end: 'x' }] as Record<string, string>[])
        assertFailure(await call(target, 'getSandboxMetrics', { path, query }), { status: 400 });
    },
  },
]);
