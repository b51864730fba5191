import { describe, expect, it, onTestFinished } from 'vitest';
import { collectLogs } from '../../src/sandboxes/telemetry/collect-logs.js';
import { storeLogs } from '../../src/sandboxes/telemetry/store-logs.js';
import { createSandbox, run } from '../support/sandboxes.js';
import { startTestServer, type TestServer } from '../support/server.js';

interface Entry {
  timestamp: string;
  level: string;
  message: string;
  fields: Record<string, string>;
}

async function start(options: Parameters<typeof startTestServer>[0] = {}): Promise<TestServer> {
  const test = await startTestServer({ tuning: { metrics: { sampleMs: 3_600_000 } }, ...options });
  onTestFinished(() => test[Symbol.asyncDispose]());
  return test;
}

/** Reads page by page until an empty one. */
async function readAll(test: TestServer, id: string, direction: string, limit = 1000): Promise<Entry[]> {
  const all: Entry[] = [];
  let token = '';
  for (;;) {
    const answer = await test.api(
      'GET',
      `/v2/sandboxes/${id}/logs?direction=${direction}&limit=${limit}&nextToken=${token}`,
    );
    expect(answer.status).toBe(200);
    if (answer.body.logs.length === 0) return all;
    all.push(...answer.body.logs);
    token = answer.headers.get('X-Next-Token')!;
  }
}

const dropped = (entry: Entry) => Number(entry.fields.dropped ?? 0);

describe('the log of a sandbox', () => {
  it('has all of a burst of 20,000 lines, readable in pages both ways, none lost or repeated', async () => {
    const test = await start();
    const sandbox = await createSandbox(test);
    await run(test, sandbox, 'seq 1 20000');
    const numbers = (entries: Entry[]) => entries.map(({ message }) => Number(message));
    const expected = Array.from({ length: 20_000 }, (_, index) => index + 1);
    expect(numbers(await readAll(test, sandbox.id, 'forward'))).toEqual(expected);
    expect(numbers(await readAll(test, sandbox.id, 'backward'))).toEqual(expected.reverse());
    const bad = await test.api('GET', `/v2/sandboxes/${sandbox.id}/logs?nextToken=nonsense`);
    expect(bad.status).toBe(400);
  });
  it('says how many lines came too fast to be kept', async () => {
    const test = await start();
    const sandbox = await createSandbox(test);
    await run(test, sandbox, `yes ${'x'.repeat(79)} | head -n 100000`);
    const entries = await readAll(test, sandbox.id, 'forward');
    const marker = entries.find(({ fields }) => fields.reason === 'rate')!;
    expect(marker).toMatchObject({ level: 'warn', message: expect.stringContaining('dropped here') });
    const kept = entries.filter(({ fields }) => fields.reason === undefined).length;
    expect(kept + entries.reduce((sum, entry) => sum + dropped(entry), 0)).toBe(100_000);
  });
  it('says how many entries made room for later ones, once for all cuts', async () => {
    const test = await start({
      tuning: { metrics: { sampleMs: 3_600_000 }, logs: { maxBytesPerSandbox: 100_000 } },
    });
    const sandbox = await createSandbox(test);
    const live = test.server.context.sandboxes.get(sandbox.id)!;
    for (let round = 0; round < 4; round += 1) {
      await run(test, sandbox, `seq ${round * 2_000 + 1} ${round * 2_000 + 2_000}`);
      await collectLogs(test.server.context, live, { timeoutMs: 10_000 });
    }
    const [marker, ...rest] = await readAll(test, sandbox.id, 'forward');
    expect(marker).toMatchObject({ level: 'warn', fields: { reason: 'size' } });
    expect(rest.every(({ fields }) => fields.reason === undefined)).toBe(true);
    expect(dropped(marker!) + rest.length).toBe(8_000);
    expect(Number(rest[0]!.message)).toBe(8_000 - rest.length + 1);
  });
  it('keeps its order when the clock inside falls or runs ahead', async () => {
    const test = await start();
    const { id } = await createSandbox(test);
    const { context } = test.server;
    const row = context.sandboxes.get(id)!.row;
    const now = context.now();
    const entry = (seq: number, at: number) => ({ seq, at, level: 'info', message: `${seq}`, fields: {} });
    const entries = [
      entry(1, now - 5_000),
      entry(2, now - 9_000),
      entry(3, now + 86_400_000),
      entry(4, now - 7_000),
    ];
    await storeLogs(context, row, { entries, dropped: 0 }, 4);
    await storeLogs(context, row, { entries: [entry(5, 0)], dropped: 0 }, 5);
    const stored = await context.db
      .selectFrom('sandbox_logs')
      .selectAll()
      .orderBy('at')
      .orderBy('seq')
      .execute();
    expect(stored.map(({ message }) => message)).toEqual(['1', '2', '3', '4', '5']);
    expect(Math.max(...stored.map(({ at }) => at))).toBeLessThanOrEqual(context.now());
  });
  it('holds a long line in numbered pieces', async () => {
    const test = await start();
    const sandbox = await createSandbox(test);
    await run(test, sandbox, `head -c 40000 /dev/zero | tr '\\0' a; echo; echo next`);
    const entries = await readAll(test, sandbox.id, 'forward');
    expect(entries.map(({ message, fields }) => [message.length, fields.part])).toEqual([
      [16_384, '1'],
      [16_384, '2'],
      [7_232, '3'],
      [4, undefined],
    ]);
  });
});
