import { eventually } from '@svc/support/eventually';
import { type PlayedCollector, playCollector, type ReceivedSpan } from '@svc/support/testing/otlp-collector';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.js';

const caller = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const traceparent = `00-${caller.traceId}-${caller.spanId}-01`;
const key = 'collector-key-never-shown';

let collector: PlayedCollector;
let test: TestServer;
beforeAll(async () => {
  collector = await playCollector();
  test = await startTestServer({ tracing: { endpoint: collector.url, headers: { 'x-key': key } } });
});
afterAll(async () => {
  await test?.[Symbol.asyncDispose]();
  await collector?.[Symbol.asyncDispose]();
});

const named = (name: string) => collector.spans.filter((span) => span.name === name);
const arrived = (name: string): Promise<ReceivedSpan> =>
  eventually(`the span ${name}`, () => named(name).at(-1));

it('has a span for each operation, above those of the driver, the daemon and the database', async () => {
  const secret = 'value-never-shown';
  const made = await test.api(
    'POST',
    '/v2/sandboxes',
    { templateID: 'base', envVars: { SECRET: secret }, metadata: { who: secret } },
    { traceparent },
  );
  expect(made.status).toBe(201);
  const span = await arrived('createSandboxV2');
  expect(span).toMatchObject({
    kind: 2,
    parentSpanId: '',
    status: 0,
    // The caller is not believed: its trace is linked, not continued.
    links: [caller],
    attributes: {
      'svc.operation': 'createSandboxV2',
      'http.route': '/v2/sandboxes',
      'http.response.status_code': 201,
      'svc.request.id': made.headers.get('x-request-id'),
      'svc.team.id': expect.any(String),
    },
  });
  expect(span.traceId).not.toBe(caller.traceId);
  const inTrace = collector.spans.filter(({ traceId }) => traceId === span.traceId);
  for (const name of ['driver.create', 'daemon.init']) {
    const child = inTrace.find((other) => other.name === name);
    expect(child?.parentSpanId).toBe(span.spanId);
    expect(child!.startNs).toBeGreaterThanOrEqual(span.startNs);
    expect(child!.endNs).toBeLessThanOrEqual(span.endNs);
  }
  const statements = inTrace.filter(({ attributes }) => 'db.query.text' in attributes);
  expect(statements.map(({ name }) => name)).toContain('INSERT sandboxes');
  const { sandboxID } = made.body;
  await test.api('DELETE', `/sandboxes/${sandboxID}`);
  expect((await arrived('killSandbox')).attributes['svc.sandbox.id']).toBe(sandboxID);
  const sent = collector.requests.map(({ body }) => body.toString('latin1')).join();
  for (const hidden of [secret, test.server.apiKey, key, test.server.operatorToken])
    expect(sent).not.toContain(hidden);
});

it('says of a refused request which operation it was, and how it ended', async () => {
  await test.api('GET', '/sandboxes/nothing', undefined, { 'X-API-Key': 'wrong' });
  expect(await arrived('getSandbox')).toMatchObject({ attributes: { 'http.response.status_code': 401 } });
  await test.api('GET', `/${'secret-path/'.repeat(20)}`);
  const unknown = await arrived('GET');
  expect(unknown.attributes).toMatchObject({ 'http.response.status_code': 404 });
  expect(JSON.stringify(unknown.attributes)).not.toContain('secret-path');
});

it('has a span for each request to a sandbox, without its path', async () => {
  const made = await test.api('POST', '/v2/sandboxes', { templateID: 'base' });
  const { sandboxID, envdAccessToken } = made.body;
  const answer = await fetch(`${test.server.sandboxUrl}/files?path=never-shown`, {
    headers: {
      'Svc-Sandbox-Id': sandboxID,
      'Svc-Sandbox-Port': '49983',
      'X-Access-Token': envdAccessToken,
    },
  });
  expect(answer.status).toBe(404);
  await answer.body?.cancel();
  const span = await arrived('gateway.daemon');
  expect(span.attributes).toEqual({
    'http.request.method': 'GET',
    'http.response.status_code': 404,
    'svc.sandbox.id': sandboxID,
    'svc.sandbox.port': 49983,
  });
  await test.api('DELETE', `/sandboxes/${sandboxID}`);
});

it('counts spans on the operator port', async () => {
  const text = await (await fetch(`${test.server.operatorUrl}/metrics`)).text();
  expect(text).toMatch(/svc_tracing_spans_total\{outcome="exported"\} [1-9]/);
  expect(text).toContain('svc_tracing_spans_total{outcome="dropped"} 0');
});

it('continues the trace of a caller that the settings trust, also where it is not sampled', async () => {
  await using believing = await startTestServer({
    tracing: { endpoint: collector.url, sampler: 'parentbased_always_on' },
  });
  await believing.api('GET', '/team', undefined, { traceparent: traceparent.replace(/01$/, '00') });
  await believing.api('GET', '/team', undefined, { traceparent });
  await eventually('the continued trace', () =>
    named('getTeam').find(
      ({ traceId, parentSpanId }) => traceId === caller.traceId && parentSpanId === caller.spanId,
    ),
  );
  expect(named('getTeam').filter(({ traceId }) => traceId === caller.traceId)).toHaveLength(1);
});

it('serves as ever when the collector is away, and ends in time', async () => {
  await using alone = await startTestServer({ tracing: { endpoint: 'http://127.0.0.1:9' } });
  for (let i = 0; i < 20; i++) expect((await alone.api('GET', '/team')).status).toBe(200);
});

it('makes nothing without an endpoint', async () => {
  await using plain = await startTestServer({ tracing: { ratio: 1 } });
  expect(plain.server.context.tracer).toBeUndefined();
  const text = await (await fetch(`${plain.server.operatorUrl}/metrics`)).text();
  expect(text).not.toContain('svc_tracing');
});
