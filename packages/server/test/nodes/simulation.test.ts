import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.js';
import { dialect } from '../support/server-storage.js';
import { createStubDriver, type StubDriver } from '../support/stub-driver.js';

const heavy = process.env.SVC_HEAVY === '1';
const STEPS = heavy ? [1_000, 2_500, 5_000, 10_000] : [100, 200];
/** Creates that are under way at the same time. */
const SIDE_BY_SIDE = 16;
/** A sandbox costs the server so much memory, at most, kB: the real figure is in `docs/scaling.md`. */
const MOST_KB_EACH = 200;

/** Measures the server with sandboxes that cost nothing by themselves. */
describe('a server whose driver holds names alone', () => {
  let driver: StubDriver;
  let test: TestServer;
  beforeAll(async () => {
    driver = await createStubDriver();
    test = await startTestServer({
      driver,
      maxSandboxes: 20_000,
      teamLimits: { maxConcurrentSandboxes: 20_000, maxTimeToLiveSeconds: 86_400 },
      validateResponses: false,
      expiryIntervalMs: 0,
    });
  });
  afterAll(async () => {
    await test?.[Symbol.asyncDispose]();
    await driver?.[Symbol.asyncDispose]();
  });

  const usedKb = () => {
    globalThis.gc?.();
    return process.memoryUsage().rss / 1024;
  };
  const timed = async (work: () => Promise<unknown>) => {
    const since = performance.now();
    await work();
    return performance.now() - since;
  };

  it(`takes ${STEPS.at(-1)} sandboxes, lists them, and ends all when their time is over`, {
    timeout: 1_800_000,
  }, async () => {
    const { db } = test.server.context;
    const before = usedKb();
    const curve: Record<string, number>[] = [];
    let made = 0;
    for (const step of STEPS) {
      const cpu = process.cpuUsage();
      const times: number[] = [];
      const from = made;
      const next = async (): Promise<void> => {
        while (made < step) {
          made += 1;
          times.push(
            await timed(async () => {
              const body = { templateID: 'base', timeout: 3_600, metadata: { step: String(step) } };
              expect((await test.api('POST', '/v2/sandboxes', body)).status).toBe(201);
            }),
          );
        }
      };
      const totalMs = await timed(() => Promise.all(Array.from({ length: SIDE_BY_SIDE }, next)));
      const { user, system } = process.cpuUsage(cpu);
      times.sort((a, b) => a - b);
      let listed: Awaited<ReturnType<TestServer['api']>> | undefined;
      const lists: number[] = [];
      for (let round = 0; round < 10; round += 1)
        lists.push(
          await timed(async () => {
            listed = await test.api('GET', '/v2/sandboxes?limit=100&state=running');
          }),
        );
      expect(listed?.body).toHaveLength(100);
      expect(listed?.headers.get('x-total-running')).toBe(String(step));
      const point = {
        sandboxes: step,
        createsPerSecond: Math.round(((step - from) / totalMs) * 1000),
        p50Ms: Math.round(times[Math.floor(times.length / 2)]!),
        p95Ms: Math.round(times[Math.floor(times.length * 0.95)]!),
        cpuMsEach: Math.round((user + system) / 10 / (step - from)) / 100,
        listMs: Math.round(Math.min(...lists) * 10) / 10,
        sampleMs: Math.round(await timed(() => test.server.sampleNow())),
        kbEach: Math.round((usedKb() - before) / step),
      };
      curve.push(point);
      console.log(`${dialect}:`, JSON.stringify(point));
    }
    const last = STEPS.at(-1)!;
    expect(await driver.list()).toHaveLength(last);
    // Of a few, what the server loads once is most of it.
    if (heavy) expect(curve.at(-1)!.kbEach!).toBeLessThan(MOST_KB_EACH);
    test.advance(7_200_000);
    let due = 0;
    const expiryMs = await timed(async () => {
      due = await test.server.expireDue();
    });
    expect([due, await driver.list(), (await test.api('GET', '/v2/sandboxes')).body]).toEqual([last, [], []]);
    const { count } = await db
      .selectFrom('events')
      .select((build) => build.fn.countAll<number>().as('count'))
      .where('type', '=', 'sandbox.lifecycle.killed')
      .executeTakeFirstOrThrow();
    expect(Number(count)).toBe(last);
    console.log(`${dialect}: ${last} ended, ${Math.round((last / expiryMs) * 1000)} a second`);
  });
});
