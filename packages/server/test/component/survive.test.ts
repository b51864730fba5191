import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { startServer } from '../../src/index.js';
import { type ChildServer, childEnvironment, startChildServer } from '../support/child-server.js';
import { childStorage, dropSchema } from '../support/server-storage.js';

let dataDir: string;
let schema: string | undefined;
let url: string | undefined;
let env: Record<string, string>;
beforeAll(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'svc-survive-'));
  const stored = await childStorage();
  schema = stored.schema;
  url = stored.url;
  env = {
    ...childEnvironment(dataDir, 'process'),
    ...(url === undefined ? {} : { SVC_POSTGRES_URL: url }),
  };
});
afterAll(async () => {
  // Sandboxes of the killed ones still run: take them over once more and end them.
  const server = await startServer({
    dataDir,
    driver: 'process',
    ...(url === undefined ? {} : { storage: { kind: 'postgres' as const, url } }),
    apiPort: 0,
    sandboxPort: 0,
    operatorPort: 0,
    logLevel: 'silent',
  });
  await server.stop({ destroySandboxes: true });
  await dropSchema(schema);
  await rm(dataDir, { recursive: true, force: true });
});

it('a server killed at any moment comes back with its sandboxes and nothing half made', async () => {
  let server: ChildServer = await startChildServer(env);
  const { apiKey } = JSON.parse(await readFile(path.join(dataDir, 'credentials.json'), 'utf8')) as {
    apiKey: string;
  };
  const api = (method: string, target: string, body?: unknown) =>
    fetch(`${server.apiUrl}${target}`, {
      method,
      signal: AbortSignal.timeout(120_000),
      headers: { 'X-API-Key': apiKey, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const create = async (body: object = {}) => {
    const response = await api('POST', '/v2/sandboxes', { templateID: 'base', timeout: 3600, ...body });
    return (await response.json()) as { sandboxID: string; envdAccessToken: string };
  };
  const answers = async (sandbox: { sandboxID: string; envdAccessToken: string }) => {
    const response = await fetch(`${server.sandboxUrl}/envs`, {
      signal: AbortSignal.timeout(120_000),
      headers: {
        'Svc-Sandbox-Id': sandbox.sandboxID,
        'Svc-Sandbox-Port': '49983',
        'X-Access-Token': sandbox.envdAccessToken,
      },
    });
    await response.arrayBuffer();
    return response.status;
  };

  const running = await create();
  const paused = await create();
  expect((await api('POST', `/sandboxes/${paused.sandboxID}/pause`)).status).toBe(204);
  const stored = await create();
  expect((await api('POST', `/sandboxes/${stored.sandboxID}/pause`, { memory: false })).status).toBe(204);
  const brief = await create({ timeout: 2 });

  for (let round = 0; round < 5; round += 1) {
    // Work is under way when the server dies: creates, a pause, a kill.
    const doomed = await create();
    const work = [
      create().catch(() => undefined),
      create().catch(() => undefined),
      api('POST', `/sandboxes/${doomed.sandboxID}/pause`, { memory: false }).catch(() => undefined),
    ];
    await new Promise((resolve) => setTimeout(resolve, round * 15));
    await server.kill();
    await Promise.allSettled(work);
    server = await startChildServer(env);
    expect(await answers(running)).toBe(200);

    const listed = (await (await api('GET', '/v2/sandboxes')).json()) as {
      sandboxID: string;
      state: string;
    }[];
    for (const sandbox of listed) {
      // Its time may be over by now.
      if (sandbox.sandboxID === brief.sandboxID) continue;
      const detail = (await (await api('GET', `/sandboxes/${sandbox.sandboxID}`)).json()) as {
        state: string;
        envdAccessToken: string;
      };
      const status = await answers({ sandboxID: sandbox.sandboxID, envdAccessToken: detail.envdAccessToken });
      expect([sandbox.state, status]).toEqual(
        sandbox.state === 'running' ? ['running', 200] : ['paused', 502],
      );
    }
    for (const sandbox of listed)
      if (![running, paused, stored].some((kept) => kept.sandboxID === sandbox.sandboxID))
        expect([204, 404]).toContain((await api('DELETE', `/sandboxes/${sandbox.sandboxID}`)).status);
  }

  await eventually(
    'the end of the brief one',
    async () => (await api('GET', `/sandboxes/${brief.sandboxID}`)).status === 404,
  );
  for (const sandbox of [paused, stored]) {
    expect((await api('POST', `/v2/sandboxes/${sandbox.sandboxID}/connect`)).status).toBe(201);
    expect(await answers(sandbox)).toBe(200);
    expect((await api('DELETE', `/sandboxes/${sandbox.sandboxID}`)).status).toBe(204);
  }
  expect((await api('DELETE', `/sandboxes/${running.sandboxID}`)).status).toBe(204);
  await server.stop();

  const last = await startServer({
    dataDir,
    driver: 'process',
    apiPort: 0,
    sandboxPort: 0,
    operatorPort: 0,
    logLevel: 'silent',
  });
  try {
    expect(await last.driver.list()).toEqual([]);
    expect(await last.driver.listCheckpoints()).toEqual([]);
    expect(await last.context.db.selectFrom('sandboxes').selectAll().execute()).toEqual([]);
    expect(await last.context.db.selectFrom('checkpoints').selectAll().execute()).toEqual([]);
  } finally {
    await last.stop();
  }
});

it('a second server on the same data directory is refused', async () => {
  const server = await startChildServer(env);
  try {
    await expect(
      startServer({
        dataDir,
        driver: 'process',
        apiPort: 0,
        sandboxPort: 0,
        operatorPort: 0,
        logLevel: 'silent',
      }),
    ).rejects.toThrow(/in use/);
  } finally {
    await server.stop();
  }
});
