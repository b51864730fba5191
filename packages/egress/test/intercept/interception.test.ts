import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import type { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { EgressAuthority } from '../../src/control/types.js';
import { makeAuthority } from '../support/authority.js';
import { readAll, startTestEgress } from '../support/egress.js';
import { ask, askHttp2, clientTls, startWeb } from '../support/web.js';

const [platform, internet] = await Promise.all([makeAuthority('platform'), makeAuthority('internet')]);
const HOST = 'api.example';
const SECRET = 'value-that-nobody-sees';

/** Records its requests. */
const mirror: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { method, url, headers, httpVersion } = request;
    const body = JSON.stringify({
      method,
      url,
      headers,
      httpVersion,
      body: Buffer.concat(chunks).toString(),
    });
    response.writeHead(200, { 'content-length': Buffer.byteLength(body), 'x-answer': 'a' });
    response.end(body);
  });
};

async function start(options: { listener?: RequestListener; web?: EgressAuthority; http2?: boolean } = {}) {
  const egress = await startTestEgress();
  const web = await startWeb(options.web ?? internet, options.listener ?? mirror, {
    http2: options.http2 ?? true,
  });
  egress.servers.set(443, web.port);
  egress.names.set(HOST, ['127.0.0.1']);
  egress.values.set('secret:key', SECRET);
  await egress.control.setAuthority(platform, internet.certificate);
  await egress.setPolicy({
    allowOut: [HOST, 'free.example'],
    denyOut: ['0.0.0.0/0'],
    rules: { [HOST]: { headers: { authorization: 'Bearer ${svc.secrets.key}', 'x-static': 's' } } },
  });
  const client = (protocols?: string[], host = HOST, ca = platform.certificate) =>
    clientTls(egress.connect({ address: '9.9.9.9', port: 443 }), host, ca, protocols);
  return { egress, web, client };
}

const get = (host = HOST, more = '') => `GET /x?y HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;

describe('a connection to a host with rules', () => {
  it('gets the headers set and replaced, on every request of a kept connection', async () => {
    const { client, egress } = await start();
    const socket = await client();
    for (let round = 0; round < 3; round++) {
      const { status, headers, body } = await ask(socket, get(HOST, 'Authorization: mine\r\nX-Other: o\r\n'));
      expect([status, headers['x-answer']]).toEqual([200, 'a']);
      expect(JSON.parse(body)).toMatchObject({
        url: '/x?y',
        httpVersion: '1.1',
        headers: { authorization: `Bearer ${SECRET}`, 'x-static': 's', 'x-other': 'o', host: HOST },
      });
    }
    const report = await egress.report(({ bytesReceived }) => bytesReceived > 0);
    expect(report).toMatchObject({ host: HOST, outcome: 'allowed', rule: `allowOut[0] ${HOST}` });
    expect(JSON.stringify(egress.reports)).not.toContain(SECRET);
  });

  it('speaks HTTP/2 on both sides when the server does, and HTTP/1.1 when it does not', async () => {
    const two = await start();
    const socket = await two.client(['h2', 'http/1.1']);
    expect(socket.alpnProtocol).toBe('h2');
    const { status, body } = await askHttp2(
      socket,
      HOST,
      { ':method': 'POST', authorization: 'mine' },
      'sent',
    );
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({
      httpVersion: '2.0',
      body: 'sent',
      headers: { authorization: `Bearer ${SECRET}`, 'x-static': 's' },
    });
    const one = await start({ http2: false });
    expect((await one.client(['h2', 'http/1.1'])).alpnProtocol).toBe('http/1.1');
  });

  it('is answered 502 with a fixed text when a placeholder is unknown, and nothing is sent', async () => {
    let requests = 0;
    const { client, egress } = await start({
      listener: (request, response) => {
        requests += 1;
        mirror(request, response);
      },
    });
    egress.values.delete('secret:key');
    const { status, body } = await ask(await client(), get());
    expect([status, body]).toEqual([502, expect.stringContaining('could not be resolved')]);
    expect((await askHttp2(await client(['h2']), HOST)).status).toBe(502);
    expect(requests).toBe(0);
    await egress.report(({ outcome, rule }) => outcome === 'failed' && rule === 'placeholder not resolved');
  });

  it('is answered 502 when the value would begin another header', async () => {
    const { client, egress } = await start();
    egress.values.set('secret:key', 'a\r\nx-evil: b');
    expect((await ask(await client(), get())).status).toBe(502);
  });

  it('takes the value that holds now, request by request', async () => {
    const { client, egress } = await start();
    const socket = await client();
    await ask(socket, get());
    egress.values.set('secret:key', 'second');
    expect(JSON.parse((await ask(socket, get())).body).headers.authorization).toBe('Bearer second');
  });

  it('gets user and password encoded as servers expect them', async () => {
    const { client, egress } = await start();
    const socket = await client();
    const authorized = async (authorization: string) => {
      await egress.setPolicy({
        allowOut: [HOST],
        denyOut: ['0.0.0.0/0'],
        rules: { [HOST]: { headers: { authorization } } },
      });
      return JSON.parse((await ask(socket, get())).body).headers.authorization as string;
    };
    const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
    expect(await authorized('Basic user:${svc.secrets.key}')).toBe(basic(`user:${SECRET}`));
    expect(await authorized('basic :${svc.secrets.key}')).toBe(basic(`:${SECRET}`));
    egress.values.set('secret:key', 'user:with:colons');
    expect(await authorized('Basic ${svc.secrets.key}')).toBe(basic('user:with:colons'));
    egress.values.set('secret:key', 'dXNlcjpwdw==');
    expect(await authorized('Basic ${svc.secrets.key}')).toBe('Basic dXNlcjpwdw==');
    expect(await authorized('Bearer a:${svc.secrets.key}')).toBe('Bearer a:dXNlcjpwdw==');
  });

  it('does not get headers for a host other than the one in TLS', async () => {
    const { client } = await start();
    expect((await ask(await client(), get('free.example'))).status).toBe(421);
    expect((await ask(await client(), get('evil.example'))).status).toBe(421);
    expect((await askHttp2(await client(['h2']), 'evil.example')).status).toBe(421);
    expect((await ask(await client(), get(HOST, `Host: evil.example\r\n`))).status).toBe(400);
  });

  it('does not send its headers to a server that sends them back by TRACE', async () => {
    const { client } = await start();
    expect((await ask(await client(), `TRACE / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)).status).toBe(405);
  });

  it('is refused when the certificate of the server does not hold', async () => {
    const { client, egress } = await start({ web: await makeAuthority('stranger') });
    await expect(client()).rejects.toThrow();
    await egress.report(
      ({ outcome, rule }) => outcome === 'failed' && rule.startsWith('certificate or TLS of the server'),
    );
  });

  it('is refused while there is no authority', async () => {
    const { client, egress } = await start();
    await egress.control.setAuthority(undefined);
    await expect(client()).rejects.toThrow();
    await egress.report(({ rule }) => rule === 'no certificate authority');
  });

  it('passes a WebSocket on', async () => {
    const { client, web } = await start();
    web.server.on('upgrade', (request: { headers: Record<string, string> }, socket: Duplex) => {
      const accept = createHash('sha1').update(request.headers['sec-websocket-key']!).digest('base64');
      const authorized = request.headers.authorization;
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nX-Seen: ${authorized === `Bearer ${SECRET}`}\r\n\r\n`,
      );
      socket.pipe(socket);
    });
    const socket = await client();
    const { status, headers } = await ask(
      socket,
      get(
        HOST,
        'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a2V5\r\nSec-WebSocket-Version: 13\r\n',
      ),
    );
    expect([status, headers['x-seen'], headers.upgrade]).toEqual([101, 'true', 'websocket']);
    socket.write('frame');
    expect(String((await once(socket, 'data'))[0])).toBe('frame');
  });

  it('passes parts of an answer on as they come, and large bodies whole', async () => {
    let go!: () => void;
    const { client } = await start({
      listener: (request, response) => {
        if (request.url === '/x?y') {
          response.write('first');
          go = () => response.end('second');
        } else request.pipe(response);
      },
    });
    const socket = await client();
    socket.write(get());
    expect(String((await once(socket, 'data'))[0])).toContain('200');
    go();
    const body = Buffer.alloc(3_000_000, 'x');
    const other = await client();
    other.write(
      `POST /up HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    other.write(body);
    const { bytes } = await readAll(other);
    expect(bytes.length).toBeGreaterThan(body.length);
  });

  it('is cut when its rule is taken away, so that the next one is passed as it is', async () => {
    const { client, egress } = await start();
    const socket = await client();
    await ask(socket, get());
    const ended = readAll(socket);
    await egress.setPolicy({ allowOut: [HOST], denyOut: ['0.0.0.0/0'] });
    await ended;
    // The certificate is now the server's own.
    const direct = await client(['http/1.1'], HOST, internet.certificate);
    expect(JSON.parse((await ask(direct, get())).body).headers.authorization).toBeUndefined();
  });

  it('leaves TLS of hosts without rules alone', async () => {
    const { client, egress } = await start();
    egress.names.set('free.example', ['127.0.0.1']);
    const socket = await client(['http/1.1'], 'free.example', internet.certificate);
    expect(JSON.parse((await ask(socket, get('free.example'))).body).headers).not.toHaveProperty('x-static');
    await expect(client(['http/1.1'], 'other.example', internet.certificate)).rejects.toThrow();
  });
});
