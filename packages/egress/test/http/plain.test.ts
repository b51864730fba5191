import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { reset } from '../../src/failures/reset.js';
import { readAll, startServer, startTestEgress } from '../support/egress.js';
import { ask, startPlainWeb } from '../support/web.js';

/** Records the questions. */
const mirror: RequestListener = (request, response) => {
  const body = JSON.stringify({ url: request.url, headers: request.headers, method: request.method });
  response.writeHead(200, { 'content-length': Buffer.byteLength(body) });
  response.end(body);
};

async function start(listener: RequestListener = mirror) {
  const egress = await startTestEgress();
  const { server, port } = await startPlainWeb(listener);
  // It ends no connection by itself.
  server.keepAliveTimeout = 600_000;
  egress.servers.set(80, port);
  for (const name of ['a.example', 'b.example']) egress.names.set(name, ['127.0.0.1']);
  await egress.setPolicy({
    allowOut: ['a.example', 'b.example'],
    denyOut: ['0.0.0.0/0'],
    rules: { 'b.example': { headers: { 'x-static': 's', 'x-secret': '${svc.secrets.key}' } } },
  });
  return { egress, server, open: () => egress.connect({ address: '9.9.9.9', port: 80 }) };
}

const get = (host: string, more = '') => `GET / HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;

describe('a plain connection', () => {
  it('is decided anew with each request that it carries', async () => {
    const { open, egress } = await start();
    const socket = open();
    expect((await ask(socket, get('a.example'))).status).toBe(200);
    expect((await ask(socket, get('B.example.:80'))).status).toBe(200);
    await expect(ask(socket, get('evil.example'))).rejects.toThrow('cut');
    await egress.report(({ host, outcome }) => host === 'evil.example' && outcome === 'denied');
    expect(egress.asked).toEqual(['a.example', 'b.example']);
  });

  it('is cut at a request that follows in the same bytes, before it is sent anywhere', async () => {
    const hosts: (string | undefined)[] = [];
    const { open, egress } = await start((request, response) => {
      hosts.push(request.headers.host);
      mirror(request, response);
    });
    const socket = open();
    socket.write(get('a.example') + get('evil.example') + get('a.example'));
    expect((await readAll(socket)).end).toBe('reset');
    await egress.report(({ outcome }) => outcome === 'denied');
    expect(hosts).not.toContain('evil.example');
  });

  it('gets headers without placeholders alone', async () => {
    const { open } = await start();
    const { headers } = JSON.parse((await ask(open(), get('b.example'))).body);
    expect([headers['x-static'], headers['x-secret']]).toEqual(['s', undefined]);
  });

  it('may ask more hosts, one after the other, than it may have connections to', async () => {
    const { open, egress } = await start();
    const hosts = Array.from({ length: 20 }, (_, index) => `host-${index}.example`);
    for (const name of hosts) egress.names.set(name, ['127.0.0.1']);
    await egress.setPolicy({ allowOut: ['*.example'], denyOut: ['0.0.0.0/0'], rules: {} });
    const socket = open();
    for (const name of [...hosts, ...hosts]) expect((await ask(socket, get(name))).status).toBe(200);
    // And all at once.
    const many = open();
    many.write(hosts.map((name) => get(name)).join('') + get('host-0.example', 'Connection: close\r\n'));
    const text = (await readAll(many)).bytes.toString();
    expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(21);
  });

  it.each([
    ['a length', 'Content-Length: 5\r\n', 'hello'],
    ['chunks', 'Transfer-Encoding: chunked\r\n', '5\r\nhello\r\n0\r\n\r\n'],
  ])('carries a body with %s also where its request offers another protocol', async (_what, field, body) => {
    const { open } = await start((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => response.end(`${Buffer.concat(parts)} ${request.headers.upgrade}`));
    });
    const offer = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n';
    const post = `POST / HTTP/1.1\r\nHost: a.example\r\n${offer}${field}\r\n${body}`;
    const socket = open();
    for (let round = 0; round < 2; round += 1)
      expect(await ask(socket, post)).toMatchObject({ status: 200, body: 'hello undefined' });
    await expect(ask(socket, post.replace('a.example', 'evil.example'))).rejects.toThrow('cut');
    // Not while another answer is awaited.
    const hasty = open();
    hasty.write(get('a.example') + post);
    expect((await readAll(hasty)).end).toBe('reset');
  });

  it('passes the answer to an upgrade on as it is, byte for byte', async () => {
    const { open, server } = await start();
    const head =
      'HTTP/1.1 101 Switching Protocols\r\nX-Name: caf\xe9\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';
    server.on('upgrade', (_request, socket: Socket) => socket.end(Buffer.from(`${head}\xff`, 'latin1')));
    const socket = open();
    socket.write(get('a.example', 'Connection: Upgrade\r\nUpgrade: x\r\n'));
    expect((await readAll(socket)).bytes.toString('latin1')).toBe(`${head}\xff`);
  });

  it('passes a pipeline on in order', async () => {
    const { open } = await start((request, response) => {
      const end = () => response.end(request.url);
      request.url === '/slow' ? setImmediate(() => setImmediate(end)) : end();
    });
    const socket = open();
    const path = (each: string) => `GET ${each} HTTP/1.1\r\nHost: a.example\r\n`;
    socket.write(`${path('/slow')}\r\n${path('/two')}\r\n${path('/last')}Connection: close\r\n\r\n`);
    const text = (await readAll(socket)).bytes.toString();
    expect(text.match(/\/(slow|two|last)/g)).toEqual(['/slow', '/two', '/last']);
  });

  it('ends when more requests wait than anybody needs', async () => {
    const { open } = await start(() => undefined);
    const socket = open();
    socket.write(get('a.example').repeat(500));
    expect((await readAll(socket)).end).toBe('reset');
  });

  it.each([
    ['two hosts', get('a.example', 'Host: evil.example\r\n'), 400],
    ['another host in the request line', 'GET http://evil.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n', 400],
    ['the same host in the request line', 'GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n', 200],
    ['a user before the host', 'GET http://a.example@evil.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n', 400],
    ['a URL for another scheme', 'GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n', 400],
    ['a host that is none', get('a.example/@evil.example'), 'cut'],
    ['no host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['lengths that differ', get('a.example', 'Content-Length: 1\r\nContent-Length: 2\r\n'), 400],
    ['a length beside chunks', get('a.example', 'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n'), 400],
    ['a broken header', get('a.example', 'a\0b: c\r\n'), 400],
    ['1 MB of headers', get('a.example', `x: ${'y'.repeat(1_000_000)}\r\n`), 431],
    ['1 MB of many headers', get('a.example', 'x: yyyyyyyyyyyyyyy\r\n'.repeat(50_000)), 431],
    ['CONNECT', 'CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n', 'cut'],
    ['a name in the place of an address', get('9.9.9.9'), 'cut'],
    ['an address in octal', get('011.9.9.9'), 'cut'],
  ])('with %s', async (_what, text, expected) => {
    const { open, egress } = await start();
    const answered = ask(open(), text).then(
      ({ status }) => status,
      () => 'cut',
    );
    expect(await answered).toBe(expected);
    // The process continues.
    expect((await ask(egress.connect({ address: '9.9.9.9', port: 80 }), get('a.example'))).status).toBe(200);
  });

  it('is read a byte at a time', async () => {
    const { open } = await start();
    const socket = open();
    const text = get('a.example');
    for (const letter of text.slice(0, -1)) {
      socket.write(letter);
      await new Promise(setImmediate);
    }
    expect((await ask(socket, text.slice(-1))).status).toBe(200);
  });

  it('carries uploads of any framing and answers until the end', async () => {
    const { open } = await start((request, response) => {
      let size = 0;
      request.on('data', (chunk: Buffer) => {
        size += chunk.length;
      });
      request.on('end', () => response.end(`size ${size}`));
    });
    const chunked = open();
    chunked.write('POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n');
    for (let round = 0; round < 100; round++) chunked.write(`2710\r\n${'x'.repeat(10_000)}\r\n`);
    expect((await ask(chunked, '0\r\n\r\n')).body).toContain('size 1000000');
    const expecting = open();
    expecting.write(
      'POST / HTTP/1.1\r\nHost: a.example\r\nExpect: 100-continue\r\nContent-Length: 3\r\nConnection: close\r\n\r\n',
    );
    expect(String((await once(expecting, 'data'))[0])).toContain('100 Continue');
    expecting.write('abc');
    expect((await readAll(expecting)).bytes.toString()).toContain('size 3');
  });

  const BROKEN = {
    'before it answers': (socket: Socket) => reset(socket),
    'in the middle of a counted answer': (socket: Socket) =>
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart', () => reset(socket)),
    'in the middle of chunks': (socket: Socket) =>
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n', () => reset(socket)),
    'where the end of the connection is the end of the answer': (socket: Socket) =>
      socket.write('HTTP/1.1 200 OK\r\n\r\npart', () => reset(socket)),
    'with an end in the middle of a counted answer': (socket: Socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart'),
    'with an end in the middle of chunks': (socket: Socket) =>
      socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n'),
  };
  it.each(Object.entries(BROKEN))(
    'is reset, and reported, when the server breaks off %s',
    async (_where, breakOff) => {
      const egress = await startTestEgress();
      const server = await startServer((socket) => socket.once('data', () => breakOff(socket)));
      egress.servers.set(80, server.port);
      egress.names.set('a.example', ['127.0.0.1']);
      await egress.setPolicy({ allowOut: ['a.example'], denyOut: ['0.0.0.0/0'] });
      const socket = egress.connect({ address: '9.9.9.9', port: 80 });
      socket.write(get('a.example'));
      expect((await readAll(socket)).end).toBe('reset');
      await egress.report(({ outcome }) => outcome === 'failed');
    },
  );

  it('is cut when a request says its headers too slowly, the first and later ones', async () => {
    const egress = await startTestEgress({ nextRequestMs: 1_500 });
    const web = await startPlainWeb((request, response) =>
      request.resume().once('end', () => mirror(request, response)),
    );
    egress.servers.set(80, web.port);
    egress.names.set('a.example', ['127.0.0.1']);
    await egress.setPolicy({ allowOut: ['a.example'], denyOut: ['0.0.0.0/0'] });
    // An upload may take as long as it takes.
    const upload = egress.connect({ address: '9.9.9.9', port: 80 });
    upload.write('POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 2\r\n\r\nx');
    for (const before of [0, 2]) {
      const socket = egress.connect({ address: '9.9.9.9', port: 80 });
      for (let count = 0; count < before; count += 1)
        expect((await ask(socket, get('a.example'))).status).toBe(200);
      socket.write('GET / HTTP/1.1\r\nHost: a.example\r\nX-Slow: ');
      const drip = setInterval(() => socket.write('x'), 20);
      const { end, bytes } = await readAll(socket);
      clearInterval(drip);
      expect({ before, end, answer: bytes.toString() }).toEqual({ before, end: 'reset', answer: '' });
    }
    expect((await ask(upload, 'x')).status).toBe(200);
  });
});
