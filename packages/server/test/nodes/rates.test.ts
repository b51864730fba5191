import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { operate } from '../support/operate.js';
import type { TestServer } from '../support/server.js';
import { dialect } from '../support/server-storage.js';
import { type SharedServers, startSharedServers } from '../support/shared-servers.js';
import { createStubDriver, type StubDriver } from '../support/stub-driver.js';

const BURST = 100;

describe.skipIf(dialect === 'sqlite')('the rate of a team on two servers', () => {
  let driver: StubDriver;
  let shared: SharedServers;
  let first: TestServer;
  let second: TestServer;
  beforeAll(async () => {
    driver = await createStubDriver();
    // Their clock stands still: what was taken does not come back, however long the test takes.
    const now = Date.now();
    shared = await startSharedServers(2, () => ({
      driver,
      now: () => now,
      rateLimits: { general: { rate: 1, burst: BURST } },
    }));
    [first, second] = shared.servers as [TestServer, TestServer];
  });
  afterAll(async () => {
    await shared?.[Symbol.asyncDispose]();
    await driver?.[Symbol.asyncDispose]();
  });

  const shareOf = async (server: TestServer) => {
    const { id } = await first.server.context.db.selectFrom('teams').select('id').executeTakeFirstOrThrow();
    return server.server.context.rates.shares!.of(`general ${id}`);
  };
  const ask = async (server: TestServer, count: number) => {
    const answers = await Promise.all(
      Array.from({ length: count }, () => shared.ask(server, 'GET', '/team')),
    );
    for (const { status, headers } of answers) {
      expect([200, 429]).toContain(status);
      expect(headers.get('RateLimit-Limit')).toBe(String(BURST));
    }
    return answers.filter(({ status }) => status === 200).length;
  };

  it('is that of one, and not one for each', async () => {
    const both = [first, second].map(({ server }) => server.context.rates.shares!);
    await eventually('both know of each other', async () => {
      if ((await shareOf(first)) !== 0.5 || (await shareOf(second)) !== 0.5) return false;
      // No heartbeat while they are asked: it might find that one was asked more until then.
      for (const shares of both) shares.update = () => {};
      const still = (await shareOf(first)) === 0.5 && (await shareOf(second)) === 0.5;
      if (!still) for (const shares of both) Reflect.deleteProperty(shares, 'update');
      return still;
    });
    const passed = await Promise.all([ask(first, BURST), ask(second, BURST)]);
    expect(passed).toEqual([BURST / 2, BURST / 2]);
    for (const shares of both) Reflect.deleteProperty(shares, 'update');
  });

  it('goes where it is asked for', async () => {
    await eventually('the first has nearly all', async () => {
      await ask(first, 20);
      return (await shareOf(first)) > 0.9 && (await shareOf(second)) < 0.1;
    });
    const [node] = (await operate(first.server, 'GET', '/nodes')).body;
    expect(node.report).not.toHaveProperty('demand');
  });
});
