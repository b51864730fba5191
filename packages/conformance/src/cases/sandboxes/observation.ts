import assert from 'node:assert/strict';
import { eventually } from '@svc/support/eventually';
import { casesOf, check } from '../../case.js';
import { unique, unknownIds } from '../../requests/samples.js';
import { assertStatus, call, callFails, callOk } from '../../wire/call.js';
import { run } from '../../wire/run.js';

interface Entry {
  timestamp: string;
  level: string;
  message: string;
  fields: Record<string, string>;
}

/** Logs, metrics and what left a sandbox. */
export const observationCases = casesOf('observation', [
  check('nothing left a sandbox that was just made', ['getSandboxEgress', 'success'], async (target) => {
    const sandbox = await target.newSandbox();
    const answer = await call(target, 'getSandboxEgress', { path: { sandboxID: sandbox.sandboxId } });
    const counts = { allowed: 0, denied: 0, failed: 0, bytesSent: 0, bytesReceived: 0 };
    assert.deepEqual(assertStatus(answer, 200), { totals: counts, destinations: [], dropped: 0 });
  }),
  check(
    'logs are read in both directions, by level, by text, by page',
    ['getSandboxLogsV2', 'success'],
    async (target) => {
      const sandbox = await target.newSandbox();
      const word = unique('line');
      await run(sandbox, `for i in 1 2 3; do echo ${word}-$i; sleep 0.05; done; echo ${word}-bad >&2`);
      const path = { sandboxID: sandbox.sandboxId };
      const logs = async (query: Record<string, string | number> = {}) =>
        (await callOk<{ logs: Entry[] }>(target, 'getSandboxLogsV2', 200, { path, query })).logs;
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
      const v1 = await callOk<{ logs: { line: string }[]; logEntries: Entry[] }>(
        target,
        'getSandboxLogs',
        200,
        { path },
      );
      assert.deepEqual(
        v1.logs.map((one) => one.line),
        forward.map((one) => one.message),
      );
      assert.equal(v1.logEntries.length, forward.length);
      await callOk(target, 'killSandbox', 204, { path });
      assert.equal((await logs({ search: word })).length, 4, 'logs outlive the sandbox');
    },
  ),
  check('queries of logs out of range are refused', ['getSandboxLogsV2', '400'], async (target) => {
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
      await callFails(target, 'getSandboxLogsV2', 400, { path, query });
    for (const query of [{ limit: -1 }, { limit: 1_001 }, { start: -1 }])
      await callFails(target, 'getSandboxLogs', 400, { path, query });
  }),
  check(
    'logs of what is not there, or of somebody else, are empty',
    ['getSandboxLogsV2', 'success'],
    async (target) => {
      const path = { sandboxID: unknownIds.sandboxID };
      assert.deepEqual(await callOk(target, 'getSandboxLogsV2', 200, { path }), { logs: [] });
      assert.deepEqual(await callOk(target, 'getSandboxLogs', 200, { path }), {
        logs: [],
        logEntries: [],
      });
    },
  ),
  check('metrics come for one sandbox and for many', ['listSandboxesMetrics', 'success'], async (target) => {
    const { sandboxId } = await target.sandbox();
    const one = await eventually('a sample', async () => {
      const found = await callOk<Record<string, number>[]>(target, 'getSandboxMetrics', 200, {
        path: { sandboxID: sandboxId },
      });
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
    const many = await callOk<{ sandboxes: Record<string, unknown> }>(target, 'listSandboxesMetrics', 200, {
      query: { sandbox_ids: `${sandboxId},${unknownIds.sandboxID}` },
    });
    assert.deepEqual(Object.keys(many.sandboxes), [sandboxId], 'what has no data is absent');
    const later = Math.floor(Date.now() / 1000) + 1_000;
    assert.deepEqual(
      await callOk(target, 'getSandboxMetrics', 200, {
        path: { sandboxID: sandboxId },
        query: { start: later },
      }),
      [],
    );
  }),
  check(
    'metrics of more than 100, of none, twice of one, of a bad id are refused',
    ['listSandboxesMetrics', '400'],
    async (target) => {
      const many = Array.from({ length: 101 }, (_, index) => `i${String(index).padStart(20, '0')}`);
      for (const sandbox_ids of [many.join(','), undefined, `${many[0]},${many[0]}`, 'BAD_ID'])
        await callFails(target, 'listSandboxesMetrics', 400, { query: { sandbox_ids } });
      await callOk(target, 'listSandboxesMetrics', 200, { query: { sandbox_ids: many.slice(1).join(',') } });
    },
  ),
  check(
    'a span of metrics that ends before it starts is refused',
    ['getSandboxMetrics', '400'],
    async (target) => {
      const path = { sandboxID: (await target.sandbox()).sandboxId };
      for (const query of [{ start: 20, end: 10 }, { start: -1 }, { end: 'x' }] as Record<string, string>[])
        await callFails(target, 'getSandboxMetrics', 400, { path, query });
    },
  ),
]);
