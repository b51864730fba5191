import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { ask, Fixture, rawClient, reply, to } from './fixture.js';

describe('what the service inside sees', () => {
  it('the method, target, host, headers and body as sent', async () => {
    await using fixture = await Fixture.open();
    const seen: { req: IncomingMessage; body: string }[] = [];
    await fixture.serve(fixture.add('abc'), 80, async (req, res) => {
      let body = '';
      for await (const chunk of req) body += chunk;
      seen.push({ req, body });
      reply(res, 201, 'made');
    });
    const headers = {
      Host: '80-abc.test:99',
      'X-Two': ['a', 'b'],
      'Content-Type': 'text/x',
      'Accept-Encoding': 'gzip',
    };
    const answer = await ask(fixture.port, {
      method: 'PUT',
      path: '/a%2Fb/../c?q=%20',
      headers,
      body: 'hello',
    });
    expect(answer).toMatchObject({ status: 201, body: 'made' });
    const [{ req, body } = { req: undefined, body: '' }] = seen;
    expect(req).toMatchObject({ method: 'PUT', url: '/a%2Fb/../c?q=%20' });
    expect(body).toBe('hello');
    expect(req?.headers).toMatchObject({
      host: '80-abc.test:99',
      'content-length': '5',
      'accept-encoding': 'gzip',
    });
    expect(req?.rawHeaders.filter((value) => value === 'X-Two')).toHaveLength(2);
    for (const name of [
      'x-forwarded-for',
      'x-forwarded-proto',
      'x-forwarded-host',
      'via',
      'transfer-encoding',
    ]) {
      expect(req?.headers).not.toHaveProperty(name);
    }
  });

  it('a masked host, and the real one beside it', async () => {
    await using fixture = await Fixture.open();
    const sandbox = fixture.add('abc', { maskRequestHost: 'localhost:${PORT}' });
    await fixture.serve(sandbox, 8080, (req, res) => reply(res, 200, JSON.stringify(req.headers)));
    const answer = await ask(fixture.port, {
      headers: { Host: '8080-abc.test', 'X-Forwarded-Host': 'forged' },
    });
    expect(JSON.parse(answer.body)).toMatchObject({
      host: 'localhost:8080',
      'x-forwarded-host': '8080-abc.test',
    });
  });

  it('no header that belongs to the connection of the client', async () => {
    await using fixture = await Fixture.open();
    await fixture.serve(fixture.add('abc'), 80, (req, res) => reply(res, 200, JSON.stringify(req.headers)));
    const client = await rawClient(fixture.port);
    client.socket.write(
      'GET / HTTP/1.1\r\nHost: 80-abc.test\r\nConnection: close, X-Hop, Host, Content-Length\r\nX-Hop: 1\r\nX-Stays: 1\r\n' +
        'Keep-Alive: timeout=9\r\nProxy-Authorization: Basic eA==\r\nTE: trailers, deflate\r\n\r\n',
    );
    await eventually('the answer', client.closed);
    const seen = JSON.parse(
      client
        .text()
        .split('\r\n\r\n')[1]
        ?.replace(/^[0-9a-f]+\r\n|\r\n0$/g, '') ?? '',
    );
    expect(seen).toMatchObject({ host: '80-abc.test', 'x-stays': '1', te: 'trailers' });
    for (const name of ['x-hop', 'keep-alive', 'proxy-authorization']) expect(seen).not.toHaveProperty(name);
    expect(seen.connection).toBe('keep-alive');
  });

  it('an absolute target in origin form, and its host', async () => {
    await using fixture = await Fixture.open();
    await fixture.serve(fixture.add('abc'), 80, (req, res) =>
      reply(res, 200, `${req.url} ${req.headers.host}`),
    );
    const answer = await ask(fixture.port, {
      path: 'http://80-abc.test/x?y',
      headers: { Host: 'ignored.test' },
    });
    expect(answer.body).toBe('/x?y 80-abc.test');
  });

  it('no body where the client sent none', async () => {
    await using fixture = await Fixture.open();
    await fixture.serve(fixture.add('abc'), 80, (req, res) => {
      reply(res, 200, `${req.headers['content-length']} ${req.headers['transfer-encoding']}`);
    });
    expect((await ask(fixture.port, { headers: to('abc', 80) })).body).toBe('undefined undefined');
    const client = await rawClient(fixture.port);
    client.socket.write('POST / HTTP/1.1\r\nHost: 80-abc.test\r\nConnection: close\r\n\r\n');
    await eventually('the answer', client.closed);
    expect(client.text()).toContain('0 undefined');
  });

  it('a chunked body on any method, with its trailers', async () => {
    await using fixture = await Fixture.open();
    await fixture.serve(fixture.add('abc'), 80, async (req, res) => {
      let body = '';
      for await (const chunk of req) body += chunk;
      reply(res, 200, JSON.stringify({ body, trailers: req.trailers, te: req.headers['transfer-encoding'] }));
    });
    const outgoing = request({
      port: fixture.port,
      method: 'DELETE',
      headers: { ...to('abc', 80), 'Transfer-Encoding': 'chunked', Trailer: 'X-Sum' },
    });
    outgoing.write('one');
    outgoing.write('two');
    outgoing.addTrailers({ 'X-Sum': '6' });
    outgoing.end();
    const [res] = (await once(outgoing, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of res) text += chunk;
    expect(JSON.parse(text)).toEqual({ body: 'onetwo', trailers: { 'x-sum': '6' }, te: 'chunked' });
  });
});

describe('what the client sees', () => {
  it('status, reason, headers in order and case, cookies and trailers', async () => {
    await using fixture = await Fixture.open();
    await fixture.serveTcp(fixture.add('abc'), 80, (socket) => {
      socket.once('data', () => {
        socket.write(
          'HTTP/1.1 299 Quite Fine\r\nSet-Cookie: a=1\r\nx-CaSe: y\r\nSet-Cookie: b=2\r\nConnection: X-Hop\r\nX-Hop: 1\r\n' +
            'Trailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 3\r\n\r\n',
        );
      });
    });
    const answer = await ask(fixture.port, { headers: to('abc', 80) });
    expect(answer).toMatchObject({ status: 299, body: 'abc', complete: true, trailers: { 'x-sum': '3' } });
    expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(answer.rawHeaders).toContain('x-CaSe');
    expect(answer.headers).not.toHaveProperty('x-hop');
    expect(answer.headers).not.toHaveProperty('date');
  });

  it.each([
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
  ])('no body for %s with status %i, but the length that was told', async (method, status) => {
    await using fixture = await Fixture.open();
    await fixture.serve(fixture.add('abc'), 80, (_req, res) => {
      res.writeHead(status, status === 204 ? {} : { 'Content-Length': '5' });
      res.end();
    });
    const answer = await ask(fixture.port, { method, headers: to('abc', 80) });
    expect(answer).toMatchObject({ status, body: '', complete: true });
    if (status !== 204) expect(answer.headers['content-length']).toBe('5');
  });

  it('a body that ends with the connection of the service', async () => {
    await using fixture = await Fixture.open();
    await fixture.serveTcp(fixture.add('abc'), 80, (socket) => {
      socket.once('data', () => socket.end(`HTTP/1.0 200 OK\r\n\r\n${'x'.repeat(300_000)}`));
    });
    const answer = await ask(fixture.port, { headers: to('abc', 80) });
    expect(answer.complete).toBe(true);
    expect(answer.body).toHaveLength(300_000);
  });

  it('the head at once and each part of the body as it comes', async () => {
    await using fixture = await Fixture.open();
    let push = (_text: string) => {};
    await fixture.serve(fixture.add('abc'), 80, (_req, res) => {
      res.writeHead(200);
      res.flushHeaders();
      push = (text) => void res.write(text);
    });
    const outgoing = request({ port: fixture.port, headers: to('abc', 80) }).end();
    const [res] = (await once(outgoing, 'response')) as [IncomingMessage];
    for (const part of ['one', 'two']) {
      push(part);
      const [chunk] = await once(res, 'data');
      expect(String(chunk)).toBe(part);
    }
    outgoing.destroy();
  });

  it('compressed bytes untouched', async () => {
    await using fixture = await Fixture.open();
    const bytes = Buffer.from([0x1f, 0x8b, 0, 255, 254]);
    await fixture.serve(fixture.add('abc'), 80, (_req, res) => {
      res.writeHead(200, { 'Content-Encoding': 'gzip', 'Content-Length': bytes.length });
      res.end(bytes);
    });
    const response = await once(request({ port: fixture.port, headers: to('abc', 80) }).end(), 'response');
    const chunks: Buffer[] = [];
    for await (const chunk of response[0]) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks)).toEqual(bytes);
    expect(response[0].headers['content-encoding']).toBe('gzip');
  });

  it('100 Continue only from the service, and nothing when it refuses first', async () => {
    await using fixture = await Fixture.open();
    const server = await fixture.serve(fixture.add('abc'), 80, async (req, res) => {
      let size = 0;
      for await (const chunk of req) size += chunk.length;
      reply(res, 200, String(size));
    });
    let mood: 'go' | 'stop' = 'go';
    server.on('checkContinue', (req, res) => {
      if (mood === 'stop') return reply(res, 413, 'too large');
      res.writeContinue();
      server.emit('request', req, res);
    });
    const start = () => {
      const headers = { ...to('abc', 80), Expect: '100-continue', 'Content-Length': '3' };
      const outgoing = request({ port: fixture.port, method: 'POST', headers });
      outgoing.flushHeaders();
      return outgoing;
    };
    const first = start();
    await once(first, 'continue');
    const answered = once(first, 'response');
    first.end('abc');
    const [res] = await answered;
    expect(res.statusCode).toBe(200);
    mood = 'stop';
    const second = start();
    let continued = false;
    second.once('continue', () => {
      continued = true;
    });
    second.on('error', () => undefined);
    const [refused] = await once(second, 'response');
    expect(refused.statusCode).toBe(413);
    expect(continued).toBe(false);
    second.destroy();
  });

  it('early hints', async () => {
    await using fixture = await Fixture.open();
    await fixture.serve(fixture.add('abc'), 80, (_req, res) => {
      res.writeEarlyHints({ link: '</a.css>; rel=preload' });
      reply(res, 200, 'x');
    });
    const outgoing = request({ port: fixture.port, headers: to('abc', 80) }).end();
    const hints: unknown[] = [];
    outgoing.on('information', (info) => hints.push(info.headers.link));
    const [res] = await once(outgoing, 'response');
    res.resume();
    expect(hints).toEqual(['</a.css>; rel=preload']);
  });
});

describe('both directions at once', () => {
  it('an answer that comes before the body is sent, and continues with it', async () => {
    await using fixture = await Fixture.open();
    await fixture.serve(fixture.add('abc'), 80, (req, res) => {
      res.writeHead(200);
      res.flushHeaders();
      req.on('data', (chunk) => res.write(`<${chunk}>`));
      req.on('end', () => res.end('end'));
    });
    const outgoing = request({ port: fixture.port, method: 'POST', headers: to('abc', 80) });
    outgoing.flushHeaders();
    const [res] = (await once(outgoing, 'response')) as [IncomingMessage];
    for (const part of ['a', 'b']) {
      outgoing.write(part);
      const [chunk] = await once(res, 'data');
      expect(String(chunk)).toBe(`<${part}>`);
    }
    outgoing.end();
    let rest = '';
    for await (const chunk of res) rest += chunk;
    expect(rest).toBe('end');
  });

  it('a whole answer while the client still sends, and the connection serves again', async () => {
    await using fixture = await Fixture.open();
    const bodies: Promise<number>[] = [];
    await fixture.serve(fixture.add('abc'), 80, (req, res) => {
      bodies.push(
        new Promise((resolve) => {
          let size = 0;
          req.on('data', (chunk) => {
            size += chunk.length;
          });
          req.on('end', () => resolve(size));
        }),
      );
      reply(res, 200, 'early', { 'Content-Length': '5' });
    });
    const client = await rawClient(fixture.port);
    client.socket.write('POST / HTTP/1.1\r\nHost: 80-abc.test\r\nContent-Length: 200000\r\n\r\n');
    await eventually('the early answer', () => client.text().endsWith('early'));
    client.socket.write('x'.repeat(200_000));
    client.socket.write('GET / HTTP/1.1\r\nHost: 80-abc.test\r\n\r\n');
    await eventually('the second answer', () => client.text().split('early').length === 3);
    expect(await bodies[0]).toBe(200_000);
    client.socket.destroy();
  });

  it('a service that answers and hangs up in the middle of an upload', async () => {
    await using fixture = await Fixture.open();
    await fixture.serveTcp(fixture.add('abc'), 80, (socket) => {
      socket.once('data', () =>
        socket.end('HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig'),
      );
      socket.resume();
    });
    const outgoing = request({ port: fixture.port, method: 'POST', headers: to('abc', 80) });
    outgoing.on('error', () => undefined);
    outgoing.write('x'.repeat(1000));
    const [res] = (await once(outgoing, 'response')) as [IncomingMessage];
    let body = '';
    for await (const chunk of res) body += chunk;
    expect([res.statusCode, body]).toEqual([413, 'big']);
    outgoing.end('rest');
  });
});

describe('connections into the sandbox', () => {
  it('are reused, until the instance changes', async () => {
    await using fixture = await Fixture.open();
    const sandbox = fixture.add('abc');
    await fixture.serve(sandbox, 49_983, (_req, res) => reply(res, 200, 'ok'));
    for (let i = 0; i < 5; i++) await ask(fixture.port, { headers: to('abc', 49_983) });
    expect(sandbox.dialed).toHaveLength(1);
    expect(fixture.gateway.stats).toMatchObject({ dials: 1, reusedConnections: 4 });
    await eventually('the connection to be kept', () => fixture.gateway.stats.idleConnections === 1);
    sandbox.route.instanceKey = 'i2';
    await ask(fixture.port, { headers: to('abc', 49_983) });
    expect(sandbox.dialed).toHaveLength(2);
    await eventually('the old connection to end', () => sandbox.dialed[0]?.destroyed === true);
  });

  it('are made side by side, without a warning that listeners leak', async () => {
    const warnings: string[] = [];
    const onWarning = ({ name }: Error) => warnings.push(name);
    process.on('warning', onWarning);
    try {
      await using fixture = await Fixture.open();
      const sandbox = fixture.add('abc');
      await fixture.serve(sandbox, 80, (_req, res) => reply(res, 200, 'ok'));
      const { dial } = sandbox.route;
      let begun = 0;
      sandbox.route.dial = async (port, signal) => {
        begun += 1;
        await eventually('all dials', () => begun === 20);
        return dial(port, signal);
      };
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => ask(fixture.port, { headers: to('abc', 80) })),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    } finally {
      process.off('warning', onWarning);
    }
    expect(warnings).toEqual([]);
  });

  it('that the service closes while idle do no harm', async () => {
    await using fixture = await Fixture.open();
    const sandbox = fixture.add('abc');
    let connections = 0;
    await fixture.serveTcp(sandbox, 80, (socket) => {
      const mine = ++connections;
      let requests = 0;
      socket.on('data', () => {
        if (mine === 1 && ++requests === 2) socket.destroy();
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      });
    });
    for (let i = 0; i < 3; i++) expect((await ask(fixture.port, { headers: to('abc', 80) })).body).toBe('ok');
    expect(connections).toBe(2);
  });

  it('are tried again while a service starts', async () => {
    await using fixture = await Fixture.open({ config: { dialBudgetMs: 60_000 } });
    const sandbox = fixture.add('abc');
    const dial = sandbox.route.dial;
    let tries = 0;
    sandbox.route.dial = async (port, signal) => {
      if (++tries < 3) throw new Error('refused');
      return await dial(port, signal);
    };
    await fixture.serve(sandbox, 80, (_req, res) => reply(res, 200, 'up'));
    expect((await ask(fixture.port, { headers: to('abc', 80) })).body).toBe('up');
    expect(tries).toBe(3);
    expect(fixture.gateway.stats).toMatchObject({ dialRetries: 2, dialFailures: 0 });
  });

  it('speak TLS on the given ports, with any certificate', async (ctx) => {
    const directory = mkdtempSync(join(tmpdir(), 'gateway-tls-'));
    try {
      const key = join(directory, 'key.pem');
      const cert = join(directory, 'cert.pem');
      try {
        const subject = ['-subj', '/CN=nobody.invalid', '-days', '1'];
        const make = [
          'req',
          '-x509',
          '-newkey',
          'rsa:2048',
          '-nodes',
          '-keyout',
          key,
          '-out',
          cert,
          ...subject,
        ];
        execFileSync('openssl', make, { stdio: 'ignore' });
      } catch {
        ctx.skip('openssl is not there to make a certificate');
      }
      await using fixture = await Fixture.open();
      const sandbox = fixture.add('abc', { httpsPorts: [8443] });
      const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (req, res) => {
        reply(res, 200, `secure ${req.url}`);
      });
      sandbox.ports.set(8443, await fixture.listen(server as never));
      for (const path of ['/a', '/b']) {
        const answer = await ask(fixture.port, { path, headers: { Host: '8443-abc.test' } });
        expect(answer.body).toBe(`secure ${path}`);
      }
      expect(sandbox.dialed).toHaveLength(1);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

describe('large transfers', () => {
  it('200 MB each way in flat memory, and unchanged', async () => {
    await using fixture = await Fixture.open();
    const total = 200_000_000;
    const block = Buffer.alloc(1_000_000, 'abcdefghij');
    // Memory in use, after a collection: the three parties of a transfer share this process.
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const held = () => {
      collect();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    const digest = async (stream: AsyncIterable<Buffer>) => {
      const hash = createHash('md5');
      let looked = 0;
      let received = 0;
      for await (const chunk of stream) {
        hash.update(chunk);
        received += chunk.length;
        if (received - looked < 10_000_000) continue;
        looked = received;
        peak = Math.max(peak, held());
      }
      return hash.digest('hex');
    };
    const expected = createHash('md5');
    for (let sent = 0; sent < total; sent += block.length) expected.update(block);
    const sum = expected.digest('hex');
    const send = async (
      to: { write(chunk: Buffer): boolean; end(): void; once: unknown } & NodeJS.EventEmitter,
    ) => {
      for (let sent = 0; sent < total; sent += block.length) if (!to.write(block)) await once(to, 'drain');
      to.end();
    };
    await fixture.serve(fixture.add('abc'), 80, async (req, res) => {
      if (req.method === 'POST') reply(res, 200, await digest(req));
      else await send(res);
    });
    let peak = 0;
    const before = held();
    const upload = request({ port: fixture.port, method: 'POST', headers: to('abc', 80) });
    const answered = once(upload, 'response');
    await send(upload);
    const [uploaded] = await answered;
    let told = '';
    for await (const chunk of uploaded) told += chunk;
    expect(told).toBe(sum);
    const [download] = await once(request({ port: fixture.port, headers: to('abc', 80) }).end(), 'response');
    expect(await digest(download)).toBe(sum);
    expect(peak - before).toBeLessThan(80_000_000);
  });

  it('a client that does not read stops the service, not the gateway', async () => {
    await using fixture = await Fixture.open();
    let written = 0;
    let blocked = false;
    await fixture.serve(fixture.add('abc'), 80, (_req, res) => {
      const block = Buffer.alloc(64 * 1024);
      const write = () => {
        while (written < 500_000_000) {
          written += block.length;
          if (!res.write(block)) {
            blocked = true;
            res.once('drain', () => {
              blocked = false;
              write();
            });
            return;
          }
        }
        res.end();
      };
      write();
    });
    const outgoing = request({ port: fixture.port, headers: to('abc', 80) }).end();
    const [res] = (await once(outgoing, 'response')) as [IncomingMessage];
    let last = -1;
    await eventually('the service to stand still', () => {
      const still = blocked && written === last;
      last = written;
      return still && written > 0;
    });
    expect(written).toBeLessThan(200_000_000);
    const before = written;
    res.resume();
    await eventually('the service to continue', () => written > before);
    outgoing.destroy();
  });
});
