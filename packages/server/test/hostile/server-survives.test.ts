import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { daemonProgram } from '@svc/envd';
import type { Driver, Instance } from '@svc/runtime/contract';
import { selectDriver } from '@svc/runtime/host';
import { hostileAnswers, startHostileDaemon } from '@svc/runtime/testing';
import { expect, it, onTestFinished } from 'vitest';
import { createSandbox, run } from '../support/sandboxes.js';
import { startTestServer } from '../support/server.js';

/** The worst of each kind; every answer meets every call in the tests beside this one. */
const ANSWERS = [
  'an endless body',
  'another protocol',
  'interim answers with broken links',
  'a connection reset in the body',
  'JSON a million levels deep',
  'bytes that come slowly',
];

/** The process driver; the daemon's port of the instances in `taken` belongs to somebody else. */
async function driverWith(taken: Map<string, number>): Promise<Driver> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-hostile-'));
  const { driver } = await selectDriver({ dataDir, daemon: daemonProgram, preferred: 'process' });
  onTestFinished(async () => {
    await driver.close({ destroyInstances: true });
    await rm(dataDir, { recursive: true, force: true });
  });
  const wrap = (instance: Instance): Instance =>
    bound(instance, {
      dial: async (port: number, options?: { signal?: AbortSignal }) => {
        const hostile = taken.get(instance.id);
        if (hostile === undefined || port !== 49_983) return instance.dial(port, options);
        return await new Promise((resolve, reject) => {
          const socket = connect({ host: '127.0.0.1', port: hostile });
          socket.once('connect', () => resolve(socket));
          socket.once('error', reject);
        });
      },
    });
  return bound(driver, {
    create: async (options: Parameters<Driver['create']>[0]) => wrap(await driver.create(options)),
    restore: async (options: Parameters<Driver['restore']>[0]) => wrap(await driver.restore(options)),
  });
}

/** The same object with some methods replaced. */
function bound<T extends object>(target: T, replaced: object): T {
  return new Proxy(target, {
    get: (_, name) => {
      const value = Reflect.get(name in replaced ? replaced : target, name) as unknown;
      return typeof value === 'function' ? value.bind(name in replaced ? replaced : target) : value;
    },
  });
}

it.each(ANSWERS)(
  'a sandbox whose daemon answers with %s ends neither the server nor its neighbours',
  async (name) => {
    const taken = new Map<string, number>();
    const test = await startTestServer({ driver: await driverWith(taken) });
    onTestFinished(() => test[Symbol.asyncDispose]());
    await using daemon = await startHostileDaemon(hostileAnswers[name]!);
    const neighbour = await createSandbox(test);
    const hostile = await createSandbox(test);
    taken.set(hostile.id, daemon.port);
    // Calls to the hostile daemon have to run out of time.
    test.server.context.config.placementTimeoutMs = 2_000;

    await test.server.sampleNow();
    await test.api('GET', `/v2/sandboxes/${hostile.id}/logs`);
    await fetch(`${test.server.sandboxUrl}/health`, {
      headers: {
        'Svc-Sandbox-Id': hostile.id,
        'Svc-Sandbox-Port': '49983',
        'X-Access-Token': hostile.token,
      },
      signal: AbortSignal.timeout(500),
    }).then(
      (response) => response.body?.cancel(),
      () => undefined,
    );
    await test.api('POST', `/sandboxes/${hostile.id}/snapshots`, { memory: false });
    await test.api('POST', `/sandboxes/${hostile.id}/pause`, {});
    await test.api('POST', `/sandboxes/${hostile.id}/connect`, { timeout: 60 });

    expect((await test.api('GET', '/health')).status).toBeLessThan(300);
    expect(await run(test, neighbour, 'echo fine')).toBe('fine\n');
  },
);
