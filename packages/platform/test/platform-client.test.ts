import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { createPlatformClient, createVolumesClient } from '../src/index.js';

function recording(respond: () => Response = () => new Response(null, { status: 204 })) {
  const calls: { request: Request; init: RequestInit | undefined }[] = [];
  return {
    calls,
    fetch: async (request: Request, init?: RequestInit) => {
      calls.push({ request, init });
      return respond();
    },
  };
}

describe('the platform client', () => {
  it('sends the API key and the headers it was given, and headers of one call win', async () => {
    const { fetch, calls } = recording();
    const headers = { 'User-Agent': 'svc-test/1', 'X-Extra': 'client' };
    const client = createPlatformClient({
      baseUrl: 'http://platform.test',
      apiKey: 'any text',
      fetch,
      headers,
    });
    await client.GET('/health', { headers: { 'X-Extra': 'call' } });
    const sent = calls[0]!.request.headers;
    expect(sent.get('X-API-Key')).toBe('any text');
    expect(sent.get('User-Agent')).toBe('svc-test/1');
    expect(sent.get('X-Extra')).toBe('call');
  });

  it('sends no key when it has none', async () => {
    const { fetch, calls } = recording();
    await createPlatformClient({ baseUrl: 'http://platform.test', fetch }).GET('/health');
    expect(calls[0]!.request.headers.has('X-API-Key')).toBe(false);
  });

  it('sends exactly the fields of the body and presets none', async () => {
    const { fetch, calls } = recording();
    const client = createPlatformClient({ baseUrl: 'http://platform.test', fetch });
    await client.POST('/v2/sandboxes', { body: { templateID: 'base' } });
    expect(await calls[0]!.request.json()).toEqual({ templateID: 'base' });
    expect(calls[0]!.request.headers.get('Content-Type')).toBe('application/json');
  });

  it('joins lists in the query with commas', async () => {
    const { fetch, calls } = recording(() => Response.json([]));
    const client = createPlatformClient({ baseUrl: 'http://platform.test', fetch });
    await client.GET('/v2/sandboxes', { params: { query: { state: ['running', 'paused'] } } });
    expect(calls[0]!.request.url).toBe('http://platform.test/v2/sandboxes?state=running,paused');
  });

  it('gives the record of a failure and leaves it to the caller', async () => {
    const record = { code: 503, message: 'full', error_code: 'from_the_future' };
    const { fetch } = recording(() => Response.json(record, { status: 503 }));
    const client = createPlatformClient({ baseUrl: 'http://platform.test', fetch });
    const { data, error, response } = await client.POST('/v2/sandboxes', { body: { templateID: 'base' } });
    expect({ data, error, ok: response.ok }).toEqual({ data: undefined, error: record, ok: false });
  });

  it("hands the caller's own signal to fetch", async () => {
    const { fetch, calls } = recording();
    const { signal } = new AbortController();
    await createPlatformClient({ baseUrl: 'http://platform.test', fetch }).GET('/health', { signal });
    expect(calls[0]!.init?.signal).toBe(signal);
  });
});

describe('a streamed response', () => {
  it('still hears its caller after garbage collection', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const server = createServer((_, response) => response.write('first'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as AddressInfo;
      const client = createVolumesClient({ baseUrl: `http://127.0.0.1:${port}`, token: 't' });
      const controller = new AbortController();
      const { data } = await client.GET('/volumecontent/{volumeID}/file', {
        params: { path: { volumeID: 'v' }, query: { path: '/x' } },
        parseAs: 'stream',
        signal: controller.signal,
      });
      const reader = data!.getReader();
      await reader.read();
      for (let round = 0; round < 5; round += 1) {
        collectGarbage();
        await new Promise((resolve) => setImmediate(resolve));
      }
      const rest = reader.read();
      controller.abort(new Error('enough'));
      await expect(rest).rejects.toThrow('enough');
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});

describe('bodies of bytes', () => {
  it.each([
    ['a Uint8Array', () => new TextEncoder().encode('content')],
    ['a Blob', () => new Blob(['content'])],
    ['a stream', () => new Blob(['content']).stream() as ReadableStream<Uint8Array>],
  ])('are sent as they are from %s', async (_, body) => {
    const { fetch, calls } = recording(() => Response.json({}, { status: 201 }));
    const client = createVolumesClient({ baseUrl: 'http://volumes.test', token: 'token', fetch });
    const params = { path: { volumeID: 'v' }, query: { path: '/x' } };
    await client.PUT('/volumecontent/{volumeID}/file', { params, body: body() });
    const { request } = calls[0]!;
    expect(request.headers.get('Content-Type')).toBe('application/octet-stream');
    expect(request.headers.get('Authorization')).toBe('Bearer token');
    expect(await request.text()).toBe('content');
  });
});
