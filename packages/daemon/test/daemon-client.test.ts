import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { StartResponseSchema } from '../src/gen.js';
import { Code, createDaemonClient, createFetchTransport } from '../src/index.js';
import { answerFrames, frame, messageFrame, startRawServer } from './raw-server.js';

describe('a daemon client', () => {
  it('sends every request, RPCs included, through the fetch it was given', async () => {
    const urls: string[] = [];
    const client = createDaemonClient({
      baseUrl: 'http://sandbox.test',
      sandboxId: 'ibox',
      port: 8080,
      fetch: async (request) => {
        urls.push(`${request.method} ${request.url} ${request.headers.get('Svc-Sandbox-Port')}`);
        return request.url.endsWith('/health')
          ? new Response(null, { status: 204 })
          : new Response('', { headers: { 'Content-Type': 'application/proto' } });
      },
    });
    await client.filesystem.makeDir({ path: 'x' });
    const { response } = await client.http.GET('/health');
    expect(response.status).toBe(204);
    expect(urls).toEqual([
      'POST http://sandbox.test/filesystem.Filesystem/MakeDir 8080',
      'GET http://sandbox.test/health 8080',
    ]);
  });

  it('lets headers of one call win over its own', async () => {
    await using server = await startRawServer((_request, response) => answerFrames(response, frame(2, {})));
    const headers = { 'User-Agent': 'svc-test/1', 'Keepalive-Ping-Interval': '50' };
    const client = createDaemonClient({ baseUrl: server.baseUrl, sandboxId: 'ibox', user: 'ann', headers });
    const stream = client.process.connect({}, { headers: { 'Keepalive-Ping-Interval': '5' } });
    for await (const _ of stream) void _;
    expect(server.requests[0]!.headers).toMatchObject({
      'user-agent': 'svc-test/1',
      'keepalive-ping-interval': '5',
    });
  });

  it('knows what the version of its daemon can do', () => {
    const address = { baseUrl: 'http://sandbox.test', sandboxId: 'ibox' };
    expect(createDaemonClient({ ...address, envdVersion: '0.5.1' }).features.closeStdin).toBe(false);
    expect(createDaemonClient(address).features.closeStdin).toBe(true);
  });
});

describe.each([
  ["Node's transport", undefined],
  ['the fetch transport', createFetchTransport],
])('a stream over %s', (_, create) => {
  it('ends when its caller aborts, even after garbage collection', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    await using server = await startRawServer((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/connect+proto' });
      response.write(messageFrame(StartResponseSchema, { event: { start: { pid: 7 } } }));
    });
    const { baseUrl } = server;
    const client = createDaemonClient({ baseUrl, sandboxId: 'ibox', transport: create?.({ baseUrl }) });
    const controller = new AbortController();
    const events = client.process
      .start({ process: { cmd: 'cat' } }, { signal: controller.signal })
      [Symbol.asyncIterator]();
    expect((await events.next()).value.event.event.value.pid).toBe(7);
    for (let round = 0; round < 5; round += 1) {
      collectGarbage();
      await new Promise((resolve) => setImmediate(resolve));
    }
    const next = events.next();
    controller.abort();
    await expect(next).rejects.toMatchObject({ code: Code.Canceled });
  });

  it.each([
    ['a call', 'application/proto', Buffer.alloc(0)],
    ['a stream', 'application/connect+proto', Buffer.from([0, 0x7f, 0xff, 0xff, 0xff])],
  ])('takes no more of an endless answer to %s than a daemon would send', async (_, type, head) => {
    const piece = Buffer.alloc(1024 * 1024, 0x0a);
    let sent = 0;
    await using server = await startRawServer((_request, response) => {
      response.writeHead(200, { 'Content-Type': type });
      response.write(head);
      const write = () => {
        for (let room = true; room && !response.destroyed; sent += piece.length) room = response.write(piece);
      };
      response.on('drain', write);
      write();
    });
    const { baseUrl } = server;
    const client = createDaemonClient({ baseUrl, sandboxId: 'ibox', transport: create?.({ baseUrl }) });
    const call = async () => {
      if (type === 'application/proto') return client.process.list({});
      for await (const _event of client.process.start({})) void _event;
    };
    await expect(call()).rejects.toMatchObject({ code: Code.ResourceExhausted });
    expect(sent).toBeLessThan(100 * piece.length);
  });

  it('fails as unavailable when nobody listens', async () => {
    const server = await startRawServer(() => {});
    const { baseUrl } = server;
    await server[Symbol.asyncDispose]();
    const client = createDaemonClient({ baseUrl, sandboxId: 'ibox', transport: create?.({ baseUrl }) });
    await expect(client.process.list({})).rejects.toMatchObject({ code: Code.Unavailable });
  });
});
