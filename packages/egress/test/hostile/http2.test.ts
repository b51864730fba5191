import type { ServerHttp2Stream } from 'node:http2';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LeafCertificates } from '../../src/intercept/leaf-certificates.js';
import { makeAuthority } from '../support/authority.js';
import { startTestEgress, type TestEgress } from '../support/egress.js';
import {
  clientBeginning,
  frame,
  headersFrame,
  requestFields,
  settings,
  untilAnswered,
} from '../support/http2-frames.js';
import { askHttp2, clientTls, startWeb } from '../support/web.js';

const [platform, internet] = await Promise.all([makeAuthority('platform'), makeAuthority('internet')]);
const HOST = 'api.example';

/** A sandbox with a rule for a host, which listens at a port of the test. */
async function startIntercepting(port: number) {
  const egress = await startTestEgress();
  egress.servers.set(443, port);
  egress.names.set(HOST, ['127.0.0.1']);
  await egress.control.setAuthority(platform, internet.certificate);
  await egress.setPolicy({
    allowOut: [HOST],
    denyOut: ['0.0.0.0/0'],
    rules: { [HOST]: { headers: { 'x-static': 's' } } },
  });
  return { egress, client: () => openClient(egress) };
}

const openClient = (egress: TestEgress) =>
  clientTls(egress.connect({ address: '9.9.9.9', port: 443 }), HOST, platform.certificate, ['h2']);

async function startAnswering(hosts: unknown[] = []): Promise<number> {
  const web = await startWeb(internet, () => undefined);
  web.server.on('stream', (stream: ServerHttp2Stream, headers: Record<string, unknown>) => {
    hosts.push([headers[':authority'], headers.host]);
    stream.on('error', () => undefined);
    stream.respond({ ':status': 200 });
    stream.end('answer');
  });
  return web.port;
}

/** A server that says the same to every client, to any question. */
async function startSaying(bytes: Buffer): Promise<number> {
  const leaves = new LeafCertificates(internet);
  const sockets = new Set<TLSSocket>();
  const server = createTlsServer({
    ALPNProtocols: ['h2'],
    SNICallback: (name, done) => void leaves.contextFor(name).then((context) => done(null, context)),
  });
  server.on('secureConnection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.write(settings);
    // Once the request came, which is what follows the preface and the settings.
    let seen = 0;
    socket.on('data', (chunk: Buffer) => {
      const before = seen;
      seen += chunk.length;
      if (before < 100 && seen >= 100) socket.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as { port: number }).port;
}

describe('a client that speaks HTTP/2', () => {
  it.each([
    ['in the headers', headersFrame(1, [...requestFields(HOST), ['http2-settings', 'AAMAAABk']])],
    [
      'after a body',
      Buffer.concat([
        headersFrame(1, requestFields(HOST), { end: false }),
        frame('data', 0, 1, Buffer.from('body')),
        headersFrame(1, [['http2-settings', 'AAMAAABk']]),
      ]),
    ],
  ])('and names a field of another protocol %s costs itself that request', async (_, bytes) => {
    const { client } = await startIntercepting(await startAnswering());
    const socket = await client();
    socket.write(Buffer.concat([clientBeginning, bytes]));
    await untilAnswered(socket, 1);
    const { status, body } = await askHttp2(await client(), HOST);
    expect([status, body]).toEqual([200, 'answer']);
  });

  it('and names two hosts is refused', async () => {
    const hosts: unknown[] = [];
    const { client } = await startIntercepting(await startAnswering(hosts));
    expect((await askHttp2(await client(), HOST, { host: 'other.example' })).status).toBe(400);
    expect((await askHttp2(await client(), HOST, { host: HOST })).status).toBe(200);
    expect(hosts).toEqual([[HOST, HOST]]);
  });
});

describe('a server that speaks HTTP/2', () => {
  const ok: [string, string] = [':status', '200'];
  const forbidden: [string, string] = ['http2-settings', 'AAMAAABk'];
  it.each([
    ['names a field of another protocol', headersFrame(1, [ok, forbidden])],
    [
      'names one after its body',
      Buffer.concat([
        headersFrame(1, [ok], { end: false }),
        frame('data', 0, 1, Buffer.from('body')),
        headersFrame(1, [forbidden]),
      ]),
    ],
    [
      'names one before its answer',
      Buffer.concat([
        headersFrame(1, [[':status', '103'], forbidden], { end: false }),
        headersFrame(1, [ok]),
      ]),
    ],
    ['answers with a status that there is not', headersFrame(1, [[':status', '999']])],
    ['answers with no status', headersFrame(1, [['x', 'y']])],
    ['switches protocols', headersFrame(1, [[':status', '101']], { end: false })],
    [
      'sends a body where none may be',
      Buffer.concat([
        headersFrame(1, [[':status', '204']], { end: false }),
        frame('data', 1, 1, Buffer.from('body')),
      ]),
    ],
    ['answers what nobody asked', headersFrame(7, [ok])],
    ['promises', headersFrame(2, [...requestFields(HOST)])],
  ])('and %s costs that request alone', async (_, bytes) => {
    const { client, egress } = await startIntercepting(await startSaying(bytes));
    const socket = await client();
    socket.write(Buffer.concat([clientBeginning, headersFrame(1, requestFields(HOST))]));
    await untilAnswered(socket, 1);
    egress.servers.set(443, await startAnswering());
    expect((await askHttp2(await client(), HOST)).status).toBe(200);
  });
});
