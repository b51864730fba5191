import { context, type TracerProvider } from '@opentelemetry/api';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Client } from '../../src/index.js';
import { instrument, openTelemetry } from '../../src/opentelemetry.js';
import { never, scriptedFetch } from '../support/scripted-fetch.js';
import { plain, recordSpans } from '../support/span-recorder.js';

const address = { apiKey: 'key-never-shown', apiUrl: 'http://api.test', logLevel: 'off' } as const;
const done = () => new Response(null, { status: 204 });

let recorded: ReturnType<typeof recordSpans>;
beforeAll(() => {
  recorded = recordSpans();
});
afterEach(() => recorded.forget());
afterAll(() => recorded.stop());

it('follows every client from then on, made before or after, until that is taken back', async () => {
  const { fetch, requests } = scriptedFetch(done, done, done);
  const before = new Client({ ...address, fetch });
  const end = instrument(recorded);
  await before.sandboxes.kill('some');
  await new Client({ ...address, fetch }).sandboxes.kill('some');
  end();
  await before.sandboxes.kill('some');
  expect(recorded.finished('sandboxes.kill')).toHaveLength(2);
  expect(requests.map(({ request }) => request.headers.has('traceparent'))).toEqual([true, true, false]);
});

it('leaves a client that has telemetry of its own to that', async () => {
  const { fetch } = scriptedFetch(done);
  const end = instrument({ propagator: recorded.propagator });
  await new Client({ ...address, fetch, telemetry: openTelemetry(recorded) }).sandboxes.kill('some');
  end();
  expect(recorded.finished('sandboxes.kill')).toHaveLength(1);
});

it('keeps a traceparent that the caller sends', async () => {
  const { fetch, requests } = scriptedFetch(done);
  const headers = { traceparent: 'mine' };
  await new Client({ ...address, headers, fetch, telemetry: openTelemetry(recorded) }).platform.GET('/team', {
    headers,
  });
  expect(requests[0]?.request.headers.get('traceparent')).toBe('mine');
  expect(recorded.finished('platform.request')).toHaveLength(1);
});

it('ends the span of a call that runs out of time', async () => {
  const { fetch } = scriptedFetch(never);
  const client = new Client({ ...address, fetch, requestTimeoutMs: 20, telemetry: openTelemetry(recorded) });
  await expect(client.sandboxes.kill('some')).rejects.toMatchObject({ name: 'RequestTimeoutError' });
  expect(plain(await recorded.only('sandboxes.kill'))).toMatchObject({
    status: 'ERROR',
    message: 'request_timeout',
  });
});

it('lets instrumentations of fetch alone: their spans and headers would be a second one', async () => {
  const { isTracingSuppressed } = await import('@opentelemetry/core');
  let quiet: boolean | undefined;
  const { fetch } = scriptedFetch(() => {
    quiet = isTracingSuppressed(context.active());
    return done();
  });
  await new Client({ ...address, fetch, telemetry: openTelemetry(recorded) }).sandboxes.kill('some');
  expect(quiet).toBe(true);
  expect(isTracingSuppressed(context.active())).toBe(false);
});

it('is not broken by a tracer that is', async () => {
  const { fetch, requests } = scriptedFetch(done, done);
  const broken = () => {
    throw new Error('no tracer today');
  };
  for (const tracer of [{ getTracer: broken }, { getTracer: () => ({ startSpan: () => ({}) }) }]) {
    const telemetry = openTelemetry({ tracerProvider: tracer as unknown as TracerProvider });
    await expect(new Client({ ...address, fetch, telemetry }).sandboxes.kill('some')).resolves.toBe(true);
  }
  expect(requests).toHaveLength(2);
});
