import { json, TestService } from '@svc/testing';
import { expect, it } from 'vitest';
import { ConflictError, InvalidRequestError, Sandbox, VolumeNotFoundError } from '../../src/index.js';

const wire = (sandboxID: string, more = {}) => ({
  sandboxID,
  templateID: 'base',
  clientID: 'test',
  envdVersion: '0.6.13',
  envdAccessToken: 'daemon-token',
  ...more,
});
const id = 'i0000000000000000000a';

/** Bodies of the requests to a place, read. */
function bodiesOf({ requests }: TestService, path: string): unknown[] {
  const seen = requests.filter((request) => request.path === path);
  return seen.map(({ body }) => (body === '' ? undefined : JSON.parse(body)));
}

it('presets nothing for forks, withForks included', async () => {
  const service = new TestService();
  const sandbox = await service.client().sandboxes.create();
  const path = `/sandboxes/${sandbox.id}/fork`;
  service.on(`POST ${path}`, json(201, []));
  await sandbox.fork();
  await sandbox.withForks(2, () => {});
  await sandbox.withForks(2, () => {}, { timeoutMs: 90_000 });
  expect(bodiesOf(service, path)).toEqual([{}, { count: 2 }, { count: 2, timeout: 90 }]);
});

it('sends the settings of an MCP gateway as they are', async () => {
  const service = new TestService();
  const mcp = { browserbase: { apiKey: 'k' } };
  await service.client().sandboxes.create({ mcp });
  expect(bodiesOf(service, '/v2/sandboxes')).toEqual([{ templateID: 'base', mcp }]);
});

it('shows the tokens of a sandbox to who asks, and not to who prints it', async () => {
  const service = new TestService();
  service.on('GET /sandboxes/{id}', json(200, detail({ trafficAccessToken: 'traffic-token' })));
  const sandbox = await service.client().sandboxes.get(id);
  expect([sandbox.accessToken, sandbox.trafficAccessToken]).toEqual(['daemon-token', 'traffic-token']);
  const { inspect } = await import('node:util');
  expect(inspect(sandbox, { depth: 9, showHidden: true }) + JSON.stringify(sandbox)).not.toMatch(/-token/);
});

it('reaches a private port through a handle that was got', async () => {
  const service = new TestService();
  service
    .on('GET /sandboxes/{id}', json(200, detail({ trafficAccessToken: 'traffic-token' })))
    .on('GET /hello', json(200, {}));
  await (await service.client().sandboxes.get(id)).fetch(8080, '/hello');
  expect(service.requests.at(-1)?.headers.get('Svc-Traffic-Access-Token')).toBe('traffic-token');
});

it('signs links to private ports by the rule of the contract, without the token in them', async () => {
  const service = new TestService();
  const client = service.client({ sandboxUrl: 'https://sandbox.example.com' });
  service.on('GET /sandboxes/{id}', json(200, detail({ trafficAccessToken: 'traffic-token' })));
  const sandbox = await client.sandboxes.get(id);
  const before = Date.now();
  const url = new URL(
    await sandbox.url(8080, { signed: { expiresInMs: 60_000.5, path: '/a%20b?c=%2Fd#e' } }),
  );
  expect(`${url.origin}${url.pathname}${url.hash}`).toBe(`${sandbox.url(8080)}/a%20b#e`);
  const [, expiry, signature] =
    /^\?c=%2Fd&svc_preview=v1\.(\d+)\.([\w-]{43})$/.exec(url.search) ?? expect.fail(url.search);
  expect(Number(expiry) * 1000 - before).toBeGreaterThanOrEqual(60_000);
  const { createHmac } = await import('node:crypto');
  const mac = createHmac('sha256', 'traffic-token').update(`v1\n${id}\n8080\n${expiry}`);
  expect(signature).toBe(mac.digest('base64url'));
  const again = await sandbox.url(8080, { signed: { expiresInMs: 1 } });
  expect(again).toMatch(/\/\?svc_preview=v1\.\d+\.[\w-]{43}$/);
});

it('signs no link that would not do what was asked for', async () => {
  const service = new TestService();
  service.on(
    'GET /sandboxes/{id}',
    json(200, detail({ trafficAccessToken: 'traffic-token' })),
    json(200, detail({})),
  );
  const closed = await service.client().sandboxes.get(id);
  const open = await service.client().sandboxes.get(id);
  const signed = { expiresInMs: 60_000 };
  for (const [link, message] of [
    [open.url(80, { signed }), /are public.*allowPublicTraffic: false.*leave out/],
    [closed.url(49_983, { signed }), /open no daemon/],
    [closed.url(80, { signed: { expiresInMs: 0 } }), /expiresInMs .* above 0, got 0/],
    [closed.url(80, { signed: { expiresInMs: Number.NaN } }), /got NaN/],
    [closed.url(80, { signed: { expiresInMs: Infinity } }), /got Infinity/],
    [closed.url(80, { signed: { ...signed, path: '//evil.test' } }), /path must begin with one/],
    [closed.url(80, { signed: { ...signed, path: 'https://evil.test' } }), /path must begin with one/],
  ] as const) {
    const error: unknown = await link.catch((thrown: unknown) => thrown);
    expect(InvalidRequestError.is(error), String(error)).toBe(true);
    expect(String(error)).toMatch(message);
    expect(String(error)).not.toContain('traffic-token');
  }
  expect(() => closed.url(0, { signed })).toThrow(/1 to 65535/);
});

it('resumes with another end of life, and says that it cannot be changed while it runs', async () => {
  const service = new TestService();
  const path = `/sandboxes/${id}/resume`;
  const running = json(409, { code: 409, message: 'the sandbox runs already' });
  service.on(`POST ${path}`, json(201, wire(id)), running);
  const options = { autoPause: true, timeoutMs: 90_000 };
  expect(await service.client().sandboxes.connect(id, options)).toBeInstanceOf(Sandbox);
  expect(bodiesOf(service, path)).toEqual([{ autoPause: true, timeout: 90 }]);
  await expect(service.client().sandboxes.connect(id, options)).rejects.toSatisfy((error) =>
    ConflictError.is(error),
  );
});

it('creates as many at once as the rate limit lets through, one after another', async () => {
  const service = new TestService();
  service.faults.add({ operation: 'createSandboxV2', times: 4, status: 429 });
  const { id } = await service.client({ requestTimeoutMs: 20_000 }).sandboxes.create();
  expect(service.sandboxes.map((sandbox) => sandbox.id)).toEqual([id]);
});

it('finds a volume by its name, and says when there is none', async () => {
  const service = new TestService();
  const volumeID = '11111111-2222-4333-8444-555555555555';
  const volume = { volumeID, name: 'data' };
  service
    .on('GET /volumes', json(200, [volume]))
    .on(`GET /volumes/${volumeID}`, json(200, { ...volume, token: 't' }))
    .on(`DELETE /volumes/${volumeID}`, json(204, null));
  const { volumes } = service.client();
  expect((await volumes.get('data')).volumeId).toBe(volumeID);
  expect((await volumes.get(volumeID)).name).toBe('data');
  await expect(volumes.get('other')).rejects.toSatisfy((error) => VolumeNotFoundError.is(error));
  await expect(volumes.get('other')).rejects.toThrow(/no volume named 'other'.*volumes\.list/);
  expect([await volumes.delete('other'), await volumes.delete('data')]).toEqual([false, true]);
});

it('says what names a record when something else was given', async () => {
  const service = new TestService();
  const client = service.client();
  service
    .on('GET /events/webhooks/{id}', json(400, { code: 400, message: 'Invalid webhook ID' }))
    .on('GET /secrets/{id}', json(400, { code: 400, message: 'Invalid secrets request' }))
    .on('GET /sandboxes/{id}', json(400, { code: 400, message: 'Invalid sandbox ID' }));
  await expect(client.webhooks.get('my hook')).rejects.toThrow(/named by its webhookId, a UUID/);
  await expect(client.secrets.get('a b')).rejects.toThrow(/its secretId or by its name/);
  await expect(client.sandboxes.get('A B')).rejects.toThrow(/named by its sandboxId/);
});

it('asks once for an event to be delivered again, and gives the delivery', async () => {
  const service = new TestService();
  const delivery = {
    eventId: 'e1',
    eventType: 'sandbox.lifecycle.created',
    sandboxId: id,
    status: 'pending',
  };
  const path = '/events/webhooks/w1/deliveries/e1/redeliver';
  service.on(`POST ${path}`, json(202, { ...delivery, attempts: [] }));
  const { webhooks } = service.client();
  expect(await webhooks.redeliver('w1', 'e1')).toEqual({ ...delivery, attempts: [] });
  service.on(`POST ${path}`, json(500, { code: 500, message: 'half done, who knows' }));
  await expect(webhooks.redeliver('w1', 'e1')).rejects.toThrow('half done');
  expect(bodiesOf(service, path)).toEqual([undefined, undefined]);
  service.on(`POST ${path}`, json(409, { code: 409, message: 'on its way already' }));
  await expect(webhooks.redeliver('w1', 'e1')).rejects.toThrow(ConflictError);
});

it('refuses an empty identifier as an error of its own, for every resource', async () => {
  const client = new TestService().client();
  const { templates, webhooks, secrets, sandboxes, snapshots } = client;
  for (const call of [
    () => templates.get(''),
    () => webhooks.get(''),
    () => webhooks.redeliver('w1', ''),
    () => secrets.get('..'),
    () => sandboxes.get(''),
    () => sandboxes.kill(''),
    () => snapshots.delete('.'),
  ])
    await expect(call()).rejects.toSatisfy((error) => InvalidRequestError.is(error));
});

it('follows a log in which nothing was from its beginning, with any clock of the service says', async () => {
  const service = new TestService();
  const sandbox = await service.client().sandboxes.create();
  const entry = { timestamp: '2001-02-03T04:05:06.789Z', level: 'info', message: 'first', fields: {} };
  service.on('GET /v2/sandboxes/{id}/logs', ({ url }) => {
    const query = new URL(url).searchParams;
    const isRead = query.get('direction') === 'forward' && !query.has('cursor');
    return json(200, { logs: isRead ? [entry] : [] });
  });
  for await (const { message } of sandbox.logs.follow({ tail: 0, pollIntervalMs: 1 })) {
    expect(message).toBe('first');
    break;
  }
});

function detail(more = {}) {
  return wire(id, {
    startedAt: '2026-01-01T00:00:00Z',
    endAt: '2026-01-01T01:00:00Z',
    cpuCount: 1,
    memoryMB: 512,
    diskSizeMB: 0,
    state: 'running',
    volumeMounts: [],
    lifecycle: { autoResume: false, onTimeout: 'kill' },
    ...more,
  });
}
