import { DriverError } from '@svc/runtime/contract';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { startTestServer, type TestServer } from '../support/server.js';

let test: TestServer;
afterEach(() => test?.[Symbol.asyncDispose]());

/** Makes the driver's creates wait until told, or until their signal aborts. */
function holdCreates(): { waiting(): number; release(): void } {
  const driver = test.server.driver as unknown as {
    create: (options: { signal?: AbortSignal }) => Promise<unknown>;
  };
  const create = driver.create.bind(driver);
  let waiting = 0;
  const gate = resolvers();
  driver.create = async (options) => {
    waiting += 1;
    await Promise.race([
      gate.promise,
      new Promise((_, reject) =>
        options.signal?.addEventListener('abort', () => reject(options.signal?.reason), { once: true }),
      ),
    ]);
    return create(options);
  };
  return { waiting: () => waiting, release: () => gate.resolve(undefined) };
}
function resolvers() {
  let resolve!: (value: unknown) => void;
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

describe('rate limits', () => {
  it('report limit, rest and reset, refuse with Retry-After, count creates separately, and fill up again', async () => {
    test = await startTestServer({
      rateLimits: { general: { rate: 1, burst: 2 }, create: { rate: 1, burst: 1 } },
    });
    const read = () => test.api('GET', '/v2/sandboxes');
    const first = await read();
    expect(first.headers.get('RateLimit-Limit')).toBe('2');
    expect(first.headers.get('RateLimit-Remaining')).toBe('1');
    expect(Number(first.headers.get('RateLimit-Reset'))).toBeGreaterThanOrEqual(1);
    let refused = await read();
    for (let round = 0; refused.status === 200 && round < 50; round += 1) refused = await read();
    expect(refused).toMatchObject({ status: 429, body: { code: 429, message: 'Rate limit exceeded' } });
    expect(refused.headers.get('RateLimit-Remaining')).toBe('0');
    expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThanOrEqual(1);
    // The bucket of creates is still full: the request reaches its handler.
    expect((await test.api('POST', '/v2/sandboxes', { templateID: 'nothing' })).status).toBe(404);
    test.advance(5_000);
    expect((await read()).status).toBe(200);
    expect((await fetch(`${test.server.apiUrl}/health`)).headers.get('RateLimit-Limit')).toBeNull();
  });
  it('count redeliveries separately', async () => {
    test = await startTestServer({ rateLimits: { redeliver: { rate: 0.001, burst: 2 } } });
    const webhook = await test.api('POST', '/events/webhooks', {
      ...{ name: 'hook', url: 'https://example.invalid/', events: ['sandbox.lifecycle.created'] },
      signatureSecret: 's'.repeat(32),
    });
    const path = `/events/webhooks/${webhook.body.id}/deliveries/${webhook.body.id}/redeliver`;
    const answers = await Promise.all(Array.from({ length: 20 }, () => test.api('POST', path)));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(18);
    expect(refused[0]?.headers.get('RateLimit-Limit')).toBe('2');
    expect(Number(refused[0]?.headers.get('Retry-After'))).toBeGreaterThanOrEqual(1);
    expect((await test.api('GET', '/v2/sandboxes')).status).toBe(200);
  });
  it('of the defaults let a program create 40 sandboxes at once', async () => {
    test = await startTestServer({ rateLimits: {} });
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => test.api('POST', '/v2/sandboxes', { templateID: 'nothing' })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]));
  });
});

describe('time limits', () => {
  it('end a request that takes too long with 504, and nothing of it is left', async () => {
    // Long enough for a busy machine to get as far as the driver.
    test = await startTestServer({ tuning: { requestTimeoutMs: 2_000 } });
    const held = holdCreates();
    expect(await test.api('POST', '/v2/sandboxes', { templateID: 'base' })).toMatchObject({
      status: 504,
      body: { code: 504 },
    });
    expect(held.waiting()).toBe(1);
    await eventually('the half-made sandbox is deleted', () => test.server.context.sandboxes.size === 0);
    expect(await test.server.context.db.selectFrom('sandboxes').select('id').execute()).toEqual([]);
  });
  it('end a placement that takes too long with 504 and its code', async () => {
    test = await startTestServer({ tuning: { placementTimeoutMs: 300 } });
    holdCreates();
    expect(await test.api('POST', '/v2/sandboxes', { templateID: 'base' })).toMatchObject({
      status: 504,
      body: { code: 504, error_code: 'sandbox_placement_timeout' },
    });
    expect(test.server.context.sandboxes.size).toBe(0);
  });
  it('give 503 with its code and Retry-After when the driver has no room', async () => {
    test = await startTestServer();
    (test.server.driver as { create: unknown }).create = () =>
      Promise.reject(new DriverError('no_capacity', 'All places are taken.'));
    const answer = await test.api('POST', '/v2/sandboxes', { templateID: 'base' });
    expect(answer).toMatchObject({ status: 503, body: { error_code: 'sandbox_capacity_unavailable' } });
    expect(answer.headers.get('Retry-After')).toBe('1');
  });
});

describe('a server that stops', () => {
  it('finishes what is under way, refuses what is new with 503, and ends', async () => {
    test = await startTestServer({ drainMs: 30_000, validateResponses: false });
    const held = holdCreates();
    // A connection that is open already: new ones are not accepted any more.
    const { Agent, request } = await import('undici');
    const agent = new Agent({ connections: 2, pipelining: 1, keepAliveTimeout: 60_000 });
    const ask = (method: 'GET' | 'POST', body?: object) =>
      request(`${test.server.apiUrl}${body === undefined ? '/team' : '/v2/sandboxes'}`, {
        dispatcher: agent,
        method,
        headers: {
          'X-API-Key': test.server.apiKey,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const underway = ask('POST', { templateID: 'base' });
    await eventually('the create is under way', () => held.waiting() === 1);
    // This one's body comes after the stop began.
    const late = await lateRequest(test.server.apiUrl, test.server.apiKey);
    const stopped = test.server.stop({ destroySandboxes: true });
    await eventually('the server drains', () => test.server.context.draining());
    expect(await late()).toMatch(/^HTTP\/1\.1 503 /);
    held.release();
    expect((await underway).statusCode).toBe(201);
    await stopped;
    await expect(ask('GET')).rejects.toThrow();
    await agent.close();
  });
});

/** Sends the first half of a request now and the rest when called; gives what is answered. */
async function lateRequest(apiUrl: string, apiKey: string): Promise<() => Promise<string>> {
  const { connect } = await import('node:net');
  const { hostname, port } = new URL(apiUrl);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.write('GET /team HTTP/1.1\r\nHost: test\r\n');
  return async () => {
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.write(`X-API-Key: ${apiKey}\r\n\r\n`);
    await new Promise((resolve) => socket.once('close', resolve));
    return text;
  };
}
