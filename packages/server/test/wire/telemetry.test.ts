import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { forgetOld } from '../../src/process/retention.js';
import { createSandbox, run } from '../support/sandboxes.js';
import { startTestServer, type TestServer } from '../support/server.js';

let test: TestServer;
beforeAll(async () => {
  test = await startTestServer();
});
afterAll(() => test[Symbol.asyncDispose]());

describe('logs', () => {
  it('hold what programs printed, with level, text and stream, filtered as asked', async () => {
    const sandbox = await createSandbox(test);
    await run(test, sandbox, 'echo first; echo second-oops >&2');
    const read = (query = '') =>
      test.api('GET', `/v2/sandboxes/${sandbox.id}/logs?direction=forward${query}`);
    await eventually('both lines are there', async () => (await read()).body.logs.length >= 2);
    const logs = (await read()).body.logs as { level: string; message: string; fields: { stream: string } }[];
    expect(logs.map((entry) => [entry.level, entry.message, entry.fields.stream]).sort()).toEqual([
      ['error', 'second-oops', 'stderr'],
      ['info', 'first', 'stdout'],
    ]);
    expect((await read('&level=error')).body.logs).toHaveLength(1);
    expect((await read('&search=oops')).body.logs).toHaveLength(1);
    expect((await read('&search=OOPS')).body.logs).toHaveLength(0);
    expect((await read('&limit=1')).body.logs).toHaveLength(1);
    const old = await test.api('GET', `/sandboxes/${sandbox.id}/logs`);
    expect(old.body.logs.map((entry: { line: string }) => entry.line).sort()).toEqual([
      'first',
      'second-oops',
    ]);
  });
  it('stay readable after the sandbox was deleted, until they are too old', async () => {
    const sandbox = await createSandbox(test);
    await run(test, sandbox, 'echo last words');
    await test.server.sampleNow();
    await test.api('DELETE', `/sandboxes/${sandbox.id}`);
    const read = async () => (await test.api('GET', `/v2/sandboxes/${sandbox.id}/logs`)).body.logs;
    expect(await read()).toMatchObject([{ message: 'last words' }]);
  });
  it('continue after a program printed bytes that are no text', async () => {
    const sandbox = await createSandbox(test);
    await run(test, sandbox, String.raw`printf 'a\000b\n\377\n'; echo after`);
    const read = async () =>
      (await test.api('GET', `/v2/sandboxes/${sandbox.id}/logs?direction=forward`)).body.logs as {
        message: string;
      }[];
    await eventually('the last line is there', async () => (await read()).length === 3);
    expect((await read()).map((entry) => entry.message)).toEqual(['a\uFFFDb', '\uFFFD', 'after']);
  });
  it('of another team are empty, like none', async () => {
    expect((await test.api('GET', '/v2/sandboxes/iunknown/logs')).body).toEqual({ logs: [] });
  });
});

describe('metrics', () => {
  it('hold samples of processor, memory and disk, for one sandbox and for several', async () => {
    const { id } = await createSandbox(test);
    await test.server.sampleNow();
    test.advance(5_000);
    await test.server.sampleNow();
    const samples = (await test.api('GET', `/sandboxes/${id}/metrics`)).body;
    expect(samples.length).toBeGreaterThanOrEqual(2);
    for (const sample of samples) {
      expect(sample.cpuCount).toBeGreaterThanOrEqual(1);
      expect(sample.cpuUsedPct).toBeGreaterThanOrEqual(0);
      expect(sample.memUsed).toBeGreaterThan(0);
      expect(sample.memTotal).toBeGreaterThanOrEqual(sample.memUsed);
    }
    expect(samples.at(-1).timestampUnix - samples[0].timestampUnix).toBeGreaterThanOrEqual(5);
    const latest = (await test.api('GET', `/sandboxes/metrics?sandbox_ids=${id},iunknown`)).body.sandboxes;
    expect(Object.keys(latest)).toEqual([id]);
    expect(latest[id].timestampUnix).toBeGreaterThanOrEqual(samples.at(-1).timestampUnix);
    // The server takes samples by itself too, so there may be one more by now.
    expect((await test.api('GET', `/sandboxes/${id}/metrics`)).body).toContainEqual(latest[id]);
    expect((await test.api('GET', `/sandboxes/${id}/metrics?start=2&end=1`)).status).toBe(400);
  });
});

describe('what is kept', () => {
  it('goes when it is too old: logs, metrics, events that were passed on, idempotency keys', async () => {
    const key = { 'Idempotency-Key': 'old1' };
    const made = await test.api('POST', '/v2/sandboxes', { templateID: 'base' }, key);
    const sandbox = { id: made.body.sandboxID, token: made.body.envdAccessToken };
    await run(test, sandbox, 'echo x');
    await test.server.sampleNow();
    await test.api('DELETE', `/sandboxes/${sandbox.id}`);
    const { db } = test.server.context;
    const count = async (
      table: 'sandbox_logs' | 'sandbox_metrics' | 'events' | 'idempotency' | 'log_cursors',
    ) => (await db.selectFrom(table).selectAll().execute()).length;
    const all = () =>
      Promise.all([
        count('sandbox_logs'),
        count('sandbox_metrics'),
        count('events'),
        count('idempotency'),
        count('log_cursors'),
      ]);
    await eventually(
      'events were looked at',
      async () =>
        (await db.selectFrom('events').selectAll().where('dispatched', '=', 0).execute()).length === 0,
    );
    expect((await all()).every((number) => number > 0)).toBe(true);
    await forgetOld(test.server.context);
    expect((await all()).every((number) => number > 0)).toBe(true);
    test.advance(8 * 86_400_000);
    await eventually('every sandbox is over', async () => {
      await test.server.expireDue();
      return test.server.context.sandboxes.size === 0;
    });
    test.advance(8 * 86_400_000);
    await eventually(
      'events were looked at',
      async () =>
        (await db.selectFrom('events').selectAll().where('dispatched', '=', 0).execute()).length === 0,
    );
    await forgetOld(test.server.context);
    expect(await all()).toEqual([0, 0, 0, 0, 0]);
  });
});
