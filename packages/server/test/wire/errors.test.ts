import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSandbox } from '../support/sandboxes.js';
import { startTestServer, type TestServer } from '../support/server.js';

let test: TestServer;
beforeAll(async () => {
  test = await startTestServer({ teamLimits: { maxConcurrentSandboxes: 3 }, maxSandboxes: 2 });
});
afterAll(() => test[Symbol.asyncDispose]());

const setTeam = async (values: { banned?: number; blocked?: number; blocked_reason?: string | null }) => {
  await test.server.context.db.updateTable('teams').set(values).execute();
  test.server.context.teams.invalidate();
};

describe('credentials', () => {
  it('get three different 401s, before anything else is looked at', async () => {
    const ask = async (key: string | undefined) => {
      const response = await fetch(`${test.server.apiUrl}/v2/sandboxes?limit=0`, {
        headers: key === undefined ? {} : { 'X-API-Key': key },
      });
      expect(response.status).toBe(401);
      return ((await response.json()) as { message: string }).message;
    };
    const texts = [await ask(undefined), await ask('nonsense'), await ask(`svc_${'0'.repeat(40)}`)];
    expect(new Set(texts).size).toBe(3);
    expect(await ask('svc_xyz')).toBe(texts[1]);
  });
  it('of a banned team give 403 everywhere, of a blocked one 403 with the reason except on reads', async () => {
    await setTeam({ banned: 1, blocked: 1, blocked_reason: 'unpaid' });
    expect(await test.api('GET', '/v2/sandboxes')).toMatchObject({
      status: 403,
      body: { message: 'team is banned' },
    });
    await setTeam({ banned: 0 });
    expect((await test.api('GET', '/v2/sandboxes')).status).toBe(200);
    expect((await test.api('DELETE', '/sandboxes/iunknown')).status).not.toBe(200);
    expect(await test.api('POST', '/v2/sandboxes', { templateID: 'base' })).toMatchObject({
      status: 403,
      body: { message: 'team is blocked: unpaid' },
    });
    await setTeam({ blocked: 0, blocked_reason: null });
  });
  it('can be made, listed without the key, and deleted', async () => {
    const made = await test.api('POST', '/api-keys', { name: 'ci' });
    expect(made).toMatchObject({ status: 201, body: { name: 'ci', lastUsed: null } });
    const as = (key: string) => test.api('GET', '/team', undefined, { 'X-API-Key': key });
    expect(await as(made.body.key)).toMatchObject({ status: 200, body: { slug: 'default' } });
    const list = await test.api('GET', '/api-keys');
    expect(JSON.stringify(list.body)).not.toContain(made.body.key);
    expect((await test.api('DELETE', `/api-keys/${made.body.id}`)).status).toBe(204);
    expect((await as(made.body.key)).status).toBe(401);
    expect((await test.api('DELETE', `/api-keys/${made.body.id}`)).status).toBe(404);
    expect((await test.api('DELETE', '/api-keys/1')).status).toBe(400);
  });
});

describe('routes', () => {
  it('that are unknown give 404, wrong methods 405 with Allow, both with the record', async () => {
    expect(await test.api('GET', '/nothing')).toMatchObject({ status: 404, body: { code: 404 } });
    const wrong = await test.api('PUT', '/v2/sandboxes', {});
    expect(wrong).toMatchObject({ status: 405, body: { code: 405 } });
    expect(wrong.headers.get('Allow')).toBe('GET, POST');
  });
  it('that were removed give 404, though their paths serve other methods', async () => {
    const template = 'a'.repeat(20);
    for (const path of [
      '/templates',
      '/v2/templates',
      `/templates/${template}`,
      `/templates/${template}/builds/00000000-0000-4000-8000-000000000000`,
    ])
      expect(await test.api('POST', path, {}), path).toMatchObject({ status: 404, body: { code: 404 } });
    expect((await test.api('PUT', '/templates', {})).headers.get('Allow')).toBe('GET');
  });
  it('carry CORS and request id headers and answer preflights', async () => {
    const answer = await test.api('GET', '/v2/sandboxes', undefined, { 'X-Request-Id': 'abc-1' });
    expect(answer.headers.get('X-Request-Id')).toBe('abc-1');
    expect(answer.headers.get('Access-Control-Allow-Origin')).toBe('*');
    const preflight = await fetch(`${test.server.apiUrl}/v2/sandboxes`, {
      method: 'OPTIONS',
      headers: { Origin: 'https://x.test', 'Access-Control-Request-Method': 'POST' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('Access-Control-Allow-Headers')).toContain('X-API-Key');
  });
  it('are healthy without a credential', async () => {
    expect((await fetch(`${test.server.apiUrl}/health`)).status).toBe(204);
  });
  it('refuse bodies that are too large, not JSON, or of another type', async () => {
    const post = (body: string, type = 'application/json') =>
      test.api('POST', '/v2/sandboxes', body, { 'Content-Type': type });
    expect((await post('{"a')).status).toBe(400);
    expect((await post('a=b', 'text/plain')).body.message).toMatch(/^validation error: /);
    expect(await post(`{"templateID":"${'x'.repeat(17 * 1024 * 1024)}"}`)).toMatchObject({
      status: 413,
      body: { code: 413 },
    });
  });
});

describe('a create request', () => {
  const cases: [string, number, Record<string, unknown>, string?][] = [
    ['without a template', 400, { templateID: undefined }],
    ['with a bad template reference', 400, { templateID: 'A B' }],
    ['with an unknown template', 404, { templateID: 'nothing' }, 'nothing'],
    ['with an unknown tag', 404, { templateID: 'base:v9' }, 'v9'],
    ['with a timeout of 0', 400, { timeout: 0 }],
    ['with a timeout over the plan', 400, { timeout: 86_401 }, '24 hours'],
    ['with autoPauseMemory: false alone', 400, { autoPauseMemory: false }],
    [
      'with autoPauseMemory: false and autoResume',
      400,
      { autoPause: true, autoPauseMemory: false, autoResume: { enabled: true } },
    ],
    [
      'with an egress proxy',
      403,
      { network: { egressProxy: { address: 'nonsense' } } },
      'network.egressProxy',
    ],
    ['with a domain in denyOut', 400, { network: { denyOut: ['example.com'] } }],
    ['with a domain in allowOut and no deny-all', 400, { network: { allowOut: ['example.com'] } }],
    ['with 0.0.0.0 in allowOut', 400, { network: { allowOut: ['0.0.0.0'] } }],
    ['with more entries than fit', 400, { network: { denyOut: Array(1_001).fill('1.2.3.4') } }, 'denyOut'],
    [
      'with more entries together than fit',
      400,
      { network: { allowOut: Array(501).fill('1.2.3.4'), denyOut: Array(500).fill('1.2.3.4') } },
      '1001 entries together',
    ],
    ['with an entry of 100 KB', 400, { network: { allowOut: ['a'.repeat(100_000)] } }, 'allowOut'],
    [
      'with rules for more hosts than there may be',
      400,
      { network: { rules: Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`a${n}.test`, []])) } },
      'rules',
    ],
    ['with a zero before a prefix', 400, { network: { denyOut: ['10.0.0.0/08'] } }, "write '10.0.0.0/8'"],
    ['with a zone in an address', 400, { network: { allowOut: ['fe80::1%eth0'] } }, 'without its zone'],
    [
      'with a rule for an address',
      400,
      { network: { rules: { '203.0.113.7': [{ transform: { headers: { x: '1' } } }] } } },
      "network.rules: '203.0.113.7' is not a host name: write one",
    ],
    ['with the daemon port in httpsPorts', 400, { network: { httpsPorts: [49_983] } }],
    ['with a port twice in httpsPorts', 400, { network: { httpsPorts: [80, 80] } }],
    ['with a bad maskRequestHost', 400, { network: { maskRequestHost: 'a b' } }],
    [
      'with rules that are not enforced',
      400,
      { network: { rules: { 'a.test': [{ transform: { headers: { x: '1' } } }] } } },
      'network.rules',
    ],
    [
      'with a forbidden header',
      400,
      { network: { rules: { 'a.test': [{ transform: { headers: { Host: 'x' } } }] } } },
      'host',
    ],
    [
      'with a broken placeholder',
      400,
      { network: { rules: { 'a.test': [{ transform: { headers: { x: '${svc.secrets.' } } }] } } },
      'placeholder',
    ],
    ['with a partial deny list', 400, { network: { denyOut: ['8.8.8.8/32'] } }, 'network.denyOut'],
    ['with no internet on a driver without networks', 400, { allow_internet_access: false }, 'driver'],
    ['with a token of another type', 400, { iam: { tokens: { a: { audience: 'x', tokenType: 'JWT' } } } }],
    [
      'with volumes that the driver cannot mount',
      400,
      { volumeMounts: [{ name: 'a', path: '/a' }] },
      'volumeMounts',
    ],
    ['with metadata that is no text', 400, { metadata: { a: 1 } }],
  ];
  it.each(cases)('%s gives %i', async (_name, status, body, text) => {
    const answer = await test.api('POST', '/v2/sandboxes', { templateID: 'base', ...body });
    expect(answer.status).toBe(status);
    expect(answer.body.code).toBe(status);
    if (text !== undefined) expect(answer.body.message).toContain(text);
    expect(test.server.context.sandboxes.size).toBe(0);
  });

  it('above the capacity of the server gives 503 with its code, above that of the team 429 without', async () => {
    await createSandbox(test);
    await createSandbox(test);
    expect(await test.api('POST', '/v2/sandboxes', { templateID: 'base' })).toMatchObject({
      status: 503,
      body: {
        error_code: 'sandbox_capacity_unavailable',
        message: expect.stringMatching(/^Failed to place sandbox: /),
      },
    });
    test.server.context.config.maxSandboxes = 10;
    await createSandbox(test);
    const over = await test.api('POST', '/v2/sandboxes', { templateID: 'base' });
    expect(over.status).toBe(429);
    expect(over.body.error_code).toBeUndefined();
    expect(over.headers.get('Retry-After')).toBeNull();
  });
});

describe('a create request with a failing driver', () => {
  it('gives 503, 504 and 500 by what failed, and leaves nothing', async () => {
    const { DriverError } = await import('@svc/runtime/contract');
    const driver = test.server.driver as { create: unknown };
    const create = driver.create;
    const results: [string, number, string][] = [
      ['no_capacity', 503, 'sandbox_capacity_unavailable'],
      ['unsupported', 503, 'sandbox_no_compatible_node'],
      ['timeout', 504, 'sandbox_placement_timeout'],
      ['create_failed', 500, 'sandbox_create_failed'],
    ];
    try {
      for (const [code, status, errorCode] of results) {
        driver.create = () => Promise.reject(new DriverError(code as 'timeout', 'no luck'));
        const answer = await test.api('POST', '/v2/sandboxes', { templateID: 'base' });
        expect(answer).toMatchObject({ status, body: { error_code: errorCode } });
        expect(answer.body.message).toMatch(/^Failed to place sandbox: /);
      }
      // Problems of the request, and an unreachable machine, are reported as everywhere.
      for (const [code, status, message] of [
        ['invalid_spec', 400, 'no luck'],
        ['unreachable', 503, 'does not answer, try again later'],
      ] as const) {
        driver.create = () => Promise.reject(new DriverError(code, 'no luck'));
        const answer = await test.api('POST', '/v2/sandboxes', { templateID: 'base' });
        expect(answer).toMatchObject({ status, body: { message: expect.stringContaining(message) } });
      }
      driver.create = () => Promise.reject(new Error('secret detail'));
      expect(await test.api('POST', '/v2/sandboxes', { templateID: 'base' })).toMatchObject({
        status: 500,
        body: { error_code: 'internal_server_error', message: 'Failed to place sandbox: internal error' },
      });
    } finally {
      driver.create = create;
    }
    expect((await test.api('GET', '/v2/sandboxes')).body).toEqual([]);
    expect(await test.server.context.db.selectFrom('sandboxes').selectAll().execute()).toEqual([]);
  });
});

describe('a resume that its machine refuses', () => {
  it('gives 503 with the reason, and the sandbox stays paused until it is tried again', async () => {
    const { DriverError } = await import('@svc/runtime/contract');
    const { id } = await createSandbox(test);
    expect((await test.api('POST', `/sandboxes/${id}/pause`)).status).toBe(204);
    const instance = test.server.context.sandboxes.get(id)!.instance!;
    const thaw = instance.thaw;
    instance.thaw = () =>
      Promise.reject(new DriverError('unsupported', 'no luck', { detail: 'of machine 7' }));
    const resume = () => test.api('POST', `/sandboxes/${id}/resume`, { timeout: 60 });
    expect(await resume()).toMatchObject({
      status: 503,
      body: { error_code: 'sandbox_no_compatible_node', message: 'Failed to place sandbox: no luck' },
    });
    expect((await test.api('GET', `/sandboxes/${id}`)).body.state).toBe('paused');
    instance.thaw = thaw;
    expect((await resume()).status).toBe(201);
  });
});

describe('an idempotency key', () => {
  it('takes equal JSON with its members in another order for the same request', async () => {
    const ask = (body: string) =>
      test.api('POST', '/v2/sandboxes', body, {
        'Idempotency-Key': 'order1',
        'Content-Type': 'application/json',
      });
    const first = await ask('{"templateID":"nothing","metadata":{"a":"1","b":"2"}}');
    const again = await ask('{ "metadata": {"b":"2", "a":"1"}, "templateID":"nothing" }');
    expect(first.status).toBe(404);
    expect(again.status).toBe(404);
    expect((await ask('{"templateID":"nothing","metadata":{"a":"2","b":"1"}}')).status).toBe(409);
  });
  it('repeats the answer, and refuses another request', async () => {
    const ask = (body: object, key = 'k1') =>
      test.api('POST', '/v2/sandboxes', body, { 'Idempotency-Key': key });
    const first = await ask({ templateID: 'base' });
    const again = await ask({ templateID: 'base' });
    expect(first.status).toBe(201);
    expect(again.body).toEqual(first.body);
    expect(await ask({ templateID: 'base', timeout: 9 })).toMatchObject({
      status: 409,
      body: { error_code: 'idempotency_request_mismatch' },
    });
    expect((await ask({ templateID: 'base' }, 'NOT OK')).status).toBe(400);
    expect((await ask({ templateID: 'nothing' }, 'k2')).status).toBe(404);
    expect((await ask({ templateID: 'nothing' }, 'k2')).status).toBe(404);
    await test.api('DELETE', `/sandboxes/${first.body.sandboxID}`);
  });
});
