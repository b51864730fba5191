import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { CallEngine, type CallEngineOptions } from '../../src/calls/call-engine.js';
import { HttpCaller, type HttpCallerOptions } from '../../src/calls/http-caller.js';
import type { CallContext } from '../../src/core/call-context.js';
import { diagnosticsChannels } from '../../src/core/diagnostics.js';
import { createLogger } from '../../src/core/logger.js';
import type { Fetch, Middleware } from '../../src/core/middleware.js';
import { json, never, refused, reset, scriptedFetch } from '../support/scripted-fetch.js';

const silent = createLogger(console, 'off');
const context: CallContext = { operation: 'test.call', service: 'platform' };

function callerOver(fetch: Fetch, options: Partial<HttpCallerOptions & CallEngineOptions> = {}): HttpCaller {
  const settings = { logger: silent, maxRetries: 2, requestTimeoutMs: 60_000, random: () => 0, ...options };
  const engine = new CallEngine(settings);
  return new HttpCaller({ fetch, userAgent: 'svc-sdk/test', headers: {}, ...settings, engine });
}

const request = (method = 'GET', init: RequestInit = {}) =>
  new Request('http://api.test/things', { method, ...init });
const soon = { 'retry-after': '0' };

describe('a call over HTTP', () => {
  it('sends the body again with every attempt of a call that may be repeated', async () => {
    const { fetch, requests } = scriptedFetch(reset(), json(503, {}, soon), json(200, { fine: true }));
    const response = await callerOver(fetch).call(context, (send) =>
      send(request('PUT', { body: 'content' })),
    );
    expect(response.status).toBe(200);
    expect(requests.map(({ body }) => body)).toEqual(['content', 'content', 'content']);
  });

  it('does not repeat a POST that may have arrived', async () => {
    const { fetch, requests } = scriptedFetch(reset(), json(200, {}));
    const call = callerOver(fetch).call(context, (send) => send(request('POST', { body: '{}' })));
    await expect(call).rejects.toMatchObject({ name: 'ConnectionError' });
    expect(requests).toHaveLength(1);
  });

  it('repeats a POST under an idempotency key, and one that never left', async () => {
    const keyed = scriptedFetch(reset(), json(201, {}));
    const headers = { 'idempotency-key': 'k1' };
    await callerOver(keyed.fetch).call(context, (send) => send(request('POST', { body: '{}', headers })));
    expect(keyed.requests).toHaveLength(2);
    const unsent = scriptedFetch(refused(), json(201, {}));
    await callerOver(unsent.fetch).call(context, (send) => send(request('POST', { body: '{}' })));
    expect(unsent.requests).toHaveLength(2);
  });

  it('gives the last answer when retries are used up', async () => {
    const { fetch, requests } = scriptedFetch(
      json(429, {}, soon),
      json(429, {}, soon),
      json(429, { last: 1 }, soon),
    );
    const untimed = callerOver(fetch, { requestTimeoutMs: 0 });
    const response = await untimed.call(context, (send) => send(request()));
    expect([response.status, await response.json(), requests.length]).toEqual([429, { last: 1 }, 3]);
  });

  it('repeats a POST that a rate limit refused, within its time limit and past the number of retries', async () => {
    const refusals = [1, 2, 3, 4].map(() => json(429, {}, soon));
    const { fetch, requests } = scriptedFetch(...refusals, json(201, { made: 1 }));
    const attempts: number[] = [];
    const counted = { ...context, onAttempt: (attempt: number) => void attempts.push(attempt) };
    const response = await callerOver(fetch).call(counted, (send) => send(request('POST', { body: '{}' })));
    expect([response.status, requests.map(({ body }) => body)]).toEqual([201, Array(5).fill('{}')]);
    // Nothing was done by any of them, so a "not found" of the last would mean that it never was there.
    expect(attempts).toEqual([1, 1, 1, 1, 1]);
  });

  it('does not repeat a POST that a limit of the team refused, nor one without retries', async () => {
    const team = scriptedFetch(json(429, { message: 'too many sandboxes' }), json(201, {}));
    const options = { maxRetries: 0 };
    const none = scriptedFetch(json(429, {}, soon), json(201, {}));
    const post = (fetch: Fetch, more = {}) =>
      callerOver(fetch).call({ ...context, ...more }, (send) => send(request('POST', { body: '{}' })));
    expect([(await post(team.fetch)).status, team.requests.length]).toEqual([429, 1]);
    expect([(await post(none.fetch, { options })).status, none.requests.length]).toEqual([429, 1]);
  });

  it('gives the 429 at once when its wait does not fit into the time limit', async () => {
    const { fetch, requests } = scriptedFetch(json(429, {}, { 'retry-after': '20' }), json(201, {}));
    const options = { requestTimeoutMs: 10_000 };
    const response = await callerOver(fetch).call({ ...context, options }, (send) => send(request('POST')));
    expect([response.status, requests.length]).toEqual([429, 1]);
  });

  it('hands a long Retry-After to the caller instead of sleeping', async () => {
    const { fetch, requests } = scriptedFetch(json(429, {}, { 'retry-after': '3600' }));
    const response = await callerOver(fetch).call(context, (send) => send(request()));
    expect([response.status, requests.length]).toEqual([429, 1]);
  });

  it('lets one call choose its number of retries', async () => {
    const { fetch, requests } = scriptedFetch(json(502, {}), json(200, {}));
    const options = { maxRetries: 0 };
    const response = await callerOver(fetch).call({ ...context, options }, (send) => send(request()));
    expect([response.status, requests.length]).toEqual([502, 1]);
  });

  it('says which limit fired and what moves it', async () => {
    const { fetch } = scriptedFetch(never);
    const options = { requestTimeoutMs: 20 };
    const call = callerOver(fetch).call({ ...context, options }, (send) => send(request()));
    await expect(call).rejects.toMatchObject({
      name: 'RequestTimeoutError',
      option: 'requestTimeoutMs',
      limitMs: 20,
      message: expect.stringContaining('requestTimeoutMs'),
    });
  });

  it('counts the wait between attempts into the time limit', async () => {
    const { fetch } = scriptedFetch(json(503, {}, { 'retry-after': '20' }));
    const call = callerOver(fetch, { requestTimeoutMs: 30 }).call(context, (send) => send(request()));
    await expect(call).rejects.toMatchObject({ name: 'RequestTimeoutError' });
  });

  it('limits a fetch that does not listen to signals', async () => {
    const options = { requestTimeoutMs: 20 };
    const call = callerOver(() => new Promise(() => {})).call({ ...context, options }, (send) =>
      send(request()),
    );
    await expect(call).rejects.toMatchObject({ name: 'RequestTimeoutError' });
  });

  it("rethrows the caller's reason during a request and during a wait", async () => {
    for (const step of [never, json(503, {}, { 'retry-after': '20' })]) {
      const { fetch } = scriptedFetch(step);
      const controller = new AbortController();
      const options = { signal: controller.signal };
      const call = callerOver(fetch).call({ ...context, options }, (send) => send(request()));
      await new Promise((resolve) => setImmediate(resolve));
      controller.abort('enough');
      await expect(call).rejects.toBe('enough');
    }
  });

  it('keeps the signal of an open call alive after its time limit ended', async () => {
    const { fetch } = scriptedFetch(json(200, {}));
    const controller = new AbortController();
    const options = { signal: controller.signal, requestTimeoutMs: 10_000 };
    const { deadline } = await callerOver(fetch).open({ ...context, options }, (send) => send(request()));
    controller.abort('later');
    expect(deadline.signal.reason).toBe('later');
  });

  it('calls an answer that breaks off a connection failure', async () => {
    const broken = new ReadableStream({
      pull(controller) {
        controller.error(
          new TypeError('terminated', { cause: Object.assign(new Error('x'), { code: 'UND_ERR_SOCKET' }) }),
        );
      },
    });
    const { fetch } = scriptedFetch(new Response(broken));
    const call = callerOver(fetch).call(context, async (send) => (await send(request())).text());
    await expect(call).rejects.toMatchObject({ name: 'ConnectionError', unsent: false });
  });

  it('runs middleware around each attempt, the first outermost', async () => {
    const seen: string[] = [];
    const named =
      (name: string): Middleware =>
      async (sent, next, call) => {
        seen.push(`${name} ${call.attempt}`);
        sent.headers.set('x-seen', `${sent.headers.get('x-seen') ?? ''}${name}`);
        return next(sent);
      };
    const { fetch, requests } = scriptedFetch(json(502, {}), json(200, {}));
    await callerOver(fetch, { middleware: [named('a'), named('b')] }).call(context, (send) =>
      send(request()),
    );
    expect(seen).toEqual(['a 1', 'b 1', 'a 2', 'b 2']);
    expect(requests[0]?.request.headers.get('x-seen')).toBe('ab');
  });

  it('throws errors of middleware as they are, without another attempt', async () => {
    const fault = new Error('mine');
    const middleware: Middleware = () => Promise.reject(fault);
    const { fetch } = scriptedFetch();
    await expect(
      callerOver(fetch, { middleware: [middleware] }).call(context, (send) => send(request())),
    ).rejects.toBe(fault);
  });

  it('gives custom headers to the platform only', async () => {
    const { fetch, requests } = scriptedFetch(json(200, {}), json(200, {}));
    const caller = callerOver(fetch, { headers: { 'x-mine': '1' } });
    await caller.call(context, (send) => send(request()));
    await caller.call({ ...context, service: 'sandbox' }, (send) => send(request()));
    expect(requests.map(({ request }) => request.headers.get('x-mine'))).toEqual(['1', null]);
    expect(requests[0]?.request.headers.get('user-agent')).toBe('svc-sdk/test');
  });

  it('publishes each phase of a call with its timings', async () => {
    const events: [string, Record<string, unknown>][] = [];
    const listeners = Object.values(diagnosticsChannels).map((name) => {
      const listener = (message: unknown) => events.push([name, message as Record<string, unknown>]);
      subscribe(name, listener);
      return () => unsubscribe(name, listener);
    });
    try {
      const { fetch } = scriptedFetch(json(502, {}), json(200, {}));
      await callerOver(fetch).call(context, (send) => send(request()));
    } finally {
      for (const stop of listeners) stop();
    }
    expect(events.map(([name]) => name)).toEqual([
      'svc:call:start',
      'svc:call:response',
      'svc:call:retry',
      'svc:call:response',
      'svc:call:end',
    ]);
    expect(new Set(events.map(([, event]) => event.callId)).size).toBe(1);
    expect(events.at(-1)?.[1]).toMatchObject({
      operation: 'test.call',
      attempts: 2,
      status: 200,
      waitedMs: 100,
    });
  });

  it('reaches those who subscribed after Node collected what nobody held', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const { fetch } = scriptedFetch(json(200, {}), json(200, {}));
    await callerOver(fetch).call(context, (send) => send(request()));
    await nextTurn();
    collect();
    let ended = 0;
    const listener = () => void ended++;
    subscribe(diagnosticsChannels.end, listener);
    // Node forgets what it collected in a turn of its own.
    await nextTurn();
    await callerOver(fetch).call(context, (send) => send(request()));
    unsubscribe(diagnosticsChannels.end, listener);
    expect(ended).toBe(1);
  });

  it('writes no secret into its log lines', async () => {
    const lines: string[] = [];
    const write = (message: string, fields?: object) => lines.push(message + JSON.stringify(fields));
    const logger = createLogger({ debug: write, info: write, warn: write, error: write }, 'debug');
    const { fetch } = scriptedFetch(json(500, {}, { 'set-cookie': 'secret-cookie' }));
    const headers = {
      'x-api-key': 'secret-key',
      authorization: 'Bearer secret-bearer',
      'x-access-token': 'secret-token',
    };
    const target = new Request('http://api.test/files?signature=secret-signature&path=%2Fa', {
      headers,
    });
    await callerOver(fetch, { logger }).call(context, (send) => send(target));
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.join('\n')).not.toContain('secret');
    expect(lines.join('\n')).toContain('[redacted]');
  });

  it('survives a logger that throws', async () => {
    const fail = () => {
      throw new Error('disk full');
    };
    const logger = createLogger({ debug: fail, info: fail, warn: fail, error: fail }, 'debug');
    const { fetch } = scriptedFetch(json(200, {}));
    await expect(
      callerOver(fetch, { logger }).call(context, (send) => send(request())),
    ).resolves.toBeInstanceOf(Response);
  });
});
