import { createHmac } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer } from '../../src/index.js';
import { type ChildServer, startChildServer } from '../support/child-server.js';
import { childStorage, dropSchema } from '../support/server-storage.js';

// SVC_WEBHOOK_EVENTS=10000 is the full measure; the default shows that it works.
const EVENTS = Number(process.env.SVC_WEBHOOK_EVENTS ?? 300);
const SANDBOXES = 10;
const KILLS = 3;
const SECRET = 'the secret of a receiver that fails a third of the time';

let dataDir: string;
let stored: Awaited<ReturnType<typeof childStorage>>;
let receiver: Server;
let config: string;

interface Payload {
  id: string;
  sandbox_id: string;
  event_data: { set_timeout?: string };
}
const received: Payload[] = [];
let forged = 0;
let asked = 0;

beforeAll(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'svc-webhooks-'));
  stored = await childStorage();
  config = path.join(dataDir, 'config.json');
  await writeFile(
    config,
    JSON.stringify({
      driver: 'process',
      logLevel: 'error',
      apiPort: 0,
      sandboxPort: 0,
      operatorPort: false,
      rateLimits: { general: { rate: 0, burst: 1 }, create: { rate: 0, burst: 1 } },
      tuning: {
        webhooks: {
          allowPrivateAddresses: true,
          retryDelaysMs: Array.from({ length: 40 }, () => 20),
          timeoutMs: 2_000,
        },
      },
    }),
  );
  receiver = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = request.headers;
    const expected = createHmac('sha256', SECRET).update(`${id}.${at}.${body}`).digest('base64');
    if (signature !== `v1,${expected}`) forged++;
    if (++asked % 3 === 0) return void response.writeHead(500).end();
    received.push(JSON.parse(body) as Payload);
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
});

afterAll(async () => {
  receiver.closeAllConnections();
  receiver.close();
  // Sandboxes of the killed ones still run: take them over once more and end them.
  const server = await startServer({
    dataDir,
    driver: 'process',
    ...(stored.url === undefined ? {} : { storage: { kind: 'postgres' as const, url: stored.url } }),
    apiPort: 0,
    sandboxPort: 0,
    operatorPort: false,
    logLevel: 'silent',
  });
  await server.stop({ destroySandboxes: true });
  await dropSchema(stored.schema);
  await rm(dataDir, { recursive: true, force: true });
});

it(`${EVENTS} events all arrive, in order, though a third fails and the server is killed ${KILLS} times`, {
  timeout: 900_000,
}, async () => {
  const start = () =>
    startChildServer({
      SVC_DATA_DIR: dataDir,
      SVC_CONFIG: config,
      ...(stored.url === undefined ? {} : { SVC_POSTGRES_URL: stored.url }),
    });
  let server: ChildServer = await start();
  const { apiKey } = JSON.parse(await readFile(path.join(dataDir, 'credentials.json'), 'utf8')) as {
    apiKey: string;
  };
  const api = async (target: string, body: unknown) => {
    const response = await fetch(`${server.apiUrl}${target}`, {
      method: 'POST',
      headers: { 'X-API-Key': apiKey, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  };

  const ids: string[] = [];
  for (let made = 0; made < SANDBOXES; made++) {
    const { text } = await api('/v2/sandboxes', { templateID: 'base', timeout: 7200 });
    ids.push((JSON.parse(text) as { sandboxID: string }).sandboxID);
  }
  const { port } = receiver.address() as AddressInfo;
  const hook = await api('/events/webhooks', {
    name: 'all updates',
    url: `http://127.0.0.1:${port}/`,
    events: ['sandbox.lifecycle.updated'],
    signatureSecret: SECRET,
  });
  expect(hook.status).toBe(201);

  // A change of the time to live that was confirmed is an event that must arrive. Which ones were in doubt when the
  // server died is not known, so only confirmed ones count; the others may arrive.
  const confirmed = new Map<string, number>(ids.map((id) => [id, 0]));
  let next = 0;
  let kills = 0;
  const killAt = Array.from({ length: KILLS }, (_, index) =>
    Math.floor((EVENTS * (index + 1)) / (KILLS + 1)),
  );
  while (next < EVENTS) {
    if (kills < KILLS && next >= (killAt[kills] ?? Number.POSITIVE_INFINITY)) {
      kills++;
      await server.kill();
      server = await start();
    }
    const round = ids.slice(0, Math.min(ids.length, EVENTS - next));
    const answers = await Promise.all(
      round.map((id) => api(`/sandboxes/${id}/timeout`, { timeout: 3600 + next })),
    );
    for (const [index, answer] of answers.entries()) {
      expect(answer.status, answer.text).toBe(204);
      confirmed.set(round[index]!, (confirmed.get(round[index]!) ?? 0) + 1);
    }
    next += round.length;
  }

  const distinct = () => {
    const bySandbox = new Map<string, Payload[]>();
    const seen = new Set<string>();
    for (const payload of received) {
      if (seen.has(payload.id)) continue;
      seen.add(payload.id);
      bySandbox.set(payload.sandbox_id, [...(bySandbox.get(payload.sandbox_id) ?? []), payload]);
    }
    return bySandbox;
  };
  await expect
    .poll(() => ids.every((id) => (distinct().get(id)?.length ?? 0) >= (confirmed.get(id) ?? 0)), {
      timeout: 600_000,
      interval: 250,
    })
    .toBe(true);
  await server.stop();

  expect(forged).toBe(0);
  for (const [, payloads] of distinct()) {
    const ends = payloads.map((payload) => Date.parse(payload.event_data.set_timeout ?? ''));
    // Each change set a later end than the one before, so order of arrival shows order of events.
    expect(ends).toEqual([...ends].sort((a, b) => a - b));
  }
  console.log(
    `${EVENTS} events, ${asked} requests, ${asked - received.length} refused, ${received.length - [...distinct().values()].flat().length} repeated`,
  );
});
