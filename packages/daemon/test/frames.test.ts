import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import {
  RemoveRequestSchema,
  StartRequestSchema,
  StartResponseSchema,
  StreamInputRequestSchema,
  StreamInputResponseSchema,
} from '../src/gen.js';
import { Code, createDaemonClient, createFetchTransport, type Transport } from '../src/index.js';
import { answerFrames, frame, messageFrame, startRawServer } from './raw-server.js';

const transports: [string, (baseUrl: string) => Transport | undefined][] = [
  ["Node's transport", () => undefined],
  ['the fetch transport', (baseUrl) => createFetchTransport({ baseUrl, streamRequests: true })],
  [
    'the fetch transport without streamed bodies',
    (baseUrl) => createFetchTransport({ baseUrl, streamRequests: false }),
  ],
];

const select = {
  event: { case: 'start', value: { process: { selector: { case: 'pid', value: 1234 } } } },
} as const;
const data = (text: string) =>
  ({
    event: {
      case: 'data',
      value: { input: { input: { case: 'stdin', value: new TextEncoder().encode(text) } } },
    },
  }) as const;

async function* messages() {
  yield select;
  yield data('hi\n');
  yield data('');
  yield data('é'.repeat(200));
}

describe.each(transports)('StreamInput over %s', (_, transportFor) => {
  const clientOf = (baseUrl: string) =>
    createDaemonClient({
      baseUrl,
      sandboxId: 'ibox',
      accessToken: 'secret',
      transport: transportFor(baseUrl),
    });

  it('sends frames of a zero byte, a big-endian length and a message, and nothing after the last', async () => {
    await using server = await startRawServer((_request, response) =>
      answerFrames(response, messageFrame(StreamInputResponseSchema, {}), frame(2, {})),
    );
    await clientOf(server.baseUrl).process.streamInput(messages());
    const { body, method, url } = server.requests[0]!;
    expect([method, url]).toEqual(['POST', '/process.Process/StreamInput']);

    const long = Buffer.from('é'.repeat(200)).toString('base64');
    const expected = [
      { start: { process: { pid: 1234 } } },
      { data: { input: { stdin: 'aGkK' } } },
      { data: { input: { stdin: '' } } },
      { data: { input: { stdin: long } } },
    ].map((message) => messageFrame(StreamInputRequestSchema, message));
    expect([...body.subarray(0, 5)]).toEqual([0, 0, 0, 0, expected[0]!.length - 5]);
    expect(body.toString('hex')).toBe(Buffer.concat(expected).toString('hex'));
    // The last payload has 409 bytes, more than one byte can count, so that the order of the length bytes shows.
    expect([...expected[3]!.subarray(0, 5)]).toEqual([0, 0, 0, 1, 0x99]);
  });

  it('sends the headers that the specification names', async () => {
    await using server = await startRawServer((_request, response) =>
      answerFrames(response, messageFrame(StreamInputResponseSchema, {}), frame(2, {})),
    );
    await clientOf(server.baseUrl).process.streamInput(messages(), { timeoutMs: 30_000 });
    expect(server.requests[0]!.headers).toMatchObject({
      'svc-sandbox-id': 'ibox',
      'svc-sandbox-port': '49983',
      'x-access-token': 'secret',
      'connect-protocol-version': '1',
      'connect-timeout-ms': expect.stringMatching(/^\d{1,5}$/),
      'content-type': 'application/connect+proto',
    });
  });

  it('finds the error inside an answer of HTTP 200', async () => {
    const error = { code: 'not_found', message: 'process with pid 1234 not found' };
    await using server = await startRawServer((_request, response) =>
      answerFrames(response, frame(2, { error })),
    );
    const call = clientOf(server.baseUrl).process.streamInput(messages());
    await expect(call).rejects.toMatchObject({ code: Code.NotFound, rawMessage: error.message });
  });

  it('refuses an answer that ends without the final frame', async () => {
    await using server = await startRawServer((_request, response) =>
      answerFrames(response, messageFrame(StreamInputResponseSchema, {})),
    );
    await expect(clientOf(server.baseUrl).process.streamInput(messages())).rejects.toMatchObject({
      name: 'ConnectError',
    });
  });

  it('turns a plain 401 before the stream into unauthenticated', async () => {
    await using server = await startRawServer((_request, response) => {
      response.writeHead(401, { 'Content-Type': 'application/json' });
      response.end('{"code":401,"message":"unauthorized access"}');
    });
    await expect(clientOf(server.baseUrl).process.streamInput(messages())).rejects.toMatchObject({
      code: Code.Unauthenticated,
    });
  });
});

describe.each(transports)('Start over %s', (_, transportFor) => {
  it('reads the events of the stream in order', async () => {
    await using server = await startRawServer((_request, response) =>
      answerFrames(
        response,
        messageFrame(StartResponseSchema, { event: { start: { pid: 7 } } }),
        messageFrame(StartResponseSchema, {
          event: { data: { stdout: Buffer.from('out').toString('base64') } },
        }),
        messageFrame(StartResponseSchema, { event: { keepalive: {} } }),
        messageFrame(StartResponseSchema, { event: { end: { exited: true, status: 'exit status 0' } } }),
        frame(2, {}),
      ),
    );
    const { baseUrl } = server;
    const client = createDaemonClient({
      baseUrl,
      sandboxId: 'ibox',
      user: 'ann',
      transport: transportFor(baseUrl),
    });
    const seen: unknown[] = [];
    for await (const { event } of client.process.start({
      process: { cmd: 'ls', args: ['-l'] },
      stdin: false,
    })) {
      seen.push(event?.event.case);
    }
    expect(seen).toEqual(['start', 'data', 'keepalive', 'end']);
    const { body, headers } = server.requests[0]!;
    expect(body.toString('hex')).toBe(
      messageFrame(StartRequestSchema, { process: { cmd: 'ls', args: ['-l'] }, stdin: false }).toString(
        'hex',
      ),
    );
    expect(headers.authorization).toBe(`Basic ${Buffer.from('ann:').toString('base64')}`);
  });
});

describe.each(transports)('unary calls over %s', (_, transportFor) => {
  it('carry a bare message and read the record of a failure', async () => {
    await using server = await startRawServer((request, response) => {
      const ok = request.body.equals(
        toBinary(RemoveRequestSchema, create(RemoveRequestSchema, { path: '/tmp/x' })),
      );
      response.writeHead(ok ? 200 : 404, { 'Content-Type': ok ? 'application/proto' : 'application/json' });
      response.end(ok ? '' : '{"code":"not_found","message":"no such file"}');
    });
    const { baseUrl } = server;
    const client = createDaemonClient({ baseUrl, sandboxId: 'ibox', transport: transportFor(baseUrl) });
    await client.filesystem.remove({ path: '/tmp/x' });
    expect(server.requests[0]!.headers['content-type']).toBe('application/proto');
    await expect(client.filesystem.stat({ path: '/nowhere' })).rejects.toMatchObject({
      code: Code.NotFound,
      rawMessage: 'no such file',
    });
  });
});
