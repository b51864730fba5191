import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { frame } from '#support/connect-frames';
import { eventually } from '#support/eventually';
import { ask, Fixture, rawClient, to } from './fixture.js';

const connect = { 'Content-Type': 'application/connect+json' };

describe('a client that leaves', () => {
  it('before the answer ends the connection to the service', async () => {
    await using fixture = await Fixture.open();
    const sandbox = fixture.add('abc');
    let arrived: IncomingMessage | undefined;
    await fixture.serve(sandbox, 80, (req) => {
      arrived = req;
    });
    const outgoing = request({ port: fixture.port, headers: to('abc', 80) }).end();
    outgoing.on('error', () => undefined);
    await eventually('the request', () => arrived !== undefined);
    outgoing.destroy();
    await eventually('the end at the service', () => arrived?.destroyed === true);
    await eventually('the books to be right', () => fixture.gateway.stats.openRequests === 0);
    expect(fixture.gateway.stats.clientAborts).toBe(1);
  });

  it('in the middle of the answer, of an upload, and while the gateway dials', async () => {
    await using fixture = await Fixture.open();
    const sandbox = fixture.add('abc');
    const sockets: Socket[] = [];
    await fixture.serve(sandbox, 80, (req, res) => {
      sockets.push(req.socket);
      req.on('error', () => undefined);
      if (req.method === 'GET') res.write('x');
    });
    const down = request({ port: fixture.port, headers: to('abc', 80) }).end();
    const [res] = (await once(down, 'response')) as [IncomingMessage];
    res.on('error', () => undefined);
    down.on('error', () => undefined);
    await once(res, 'data');
    down.destroy();
    const up = request({ port: fixture.port, method: 'POST', headers: to('abc', 80) });
    up.on('error', () => undefined);
    up.write('x');
    await eventually('both requests', () => sockets.length === 2);
    up.destroy();
    await eventually('both ends at the service', () => sockets.every((socket) => socket.destroyed));

    let release = () => {};
    const dial = sandbox.route.dial;
    let dialing = false;
    sandbox.route.dial = async (port, signal) => {
      dialing = true;
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return await dial(port, signal);
    };
    const early = request({ port: fixture.port, headers: to('abc', 80) }).end();
    early.on('error', () => undefined);
    await eventually('the dial', () => dialing);
    early.destroy();
    await eventually('the leave to be noticed', () => fixture.gateway.stats.openRequests === 0);
    release();
    sandbox.route.dial = dial;
    const next = request({ port: fixture.port, headers: to('abc', 80) }).end();
    await once(next, 'response');
    next.destroy();
  });
});

describe('a service that breaks in the middle of an answer', () => {
  it.each([
    ['chunked', 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'],
    ['with a length', 'Content-Length: 10\r\n\r\nhello'],
  ])('breaks the client off too: %s', async (_name, rest) => {
    await using fixture = await Fixture.open();
    await fixture.serveTcp(fixture.add('abc'), 80, (socket) => {
      socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\n${rest}`));
    });
    const answer = await ask(fixture.port, { headers: to('abc', 80) });
    expect(answer).toMatchObject({ status: 200, complete: false });
    expect(fixture.gateway.stats.upstreamAborts).toBe(1);
  });

  const stream = (bytes: Buffer) =>
    Buffer.concat([
      Buffer.from(
        `HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nTransfer-Encoding: chunked\r\n\r\n${bytes.length.toString(16)}\r\n`,
      ),
      bytes,
      Buffer.from('\r\n'),
    ]);
  const answerWith = async (bytes: Buffer) => {
    await using fixture = await Fixture.open();
    await fixture.serveTcp(fixture.add('abc'), 80, (socket) => {
      socket.once('data', () => {
        socket.write(stream(bytes), () => socket.resetAndDestroy());
      });
    });
    return await ask(fixture.port, {
      method: 'POST',
      headers: { ...to('abc', 80), ...connect },
      body: frame('{}'),
    });
  };

  it('ends a Connect stream with unavailable at the boundary of a frame', async () => {
    const answer = await answerWith(Buffer.concat([frame('{"a":1}'), frame('{"b":2}')]));
    expect(answer.complete).toBe(true);
    expect(answer.body).toMatch(/\{"b":2\}\x02.{4}\{"error":\{"code":"unavailable","message":"[^"]+"\}\}$/s);
  });

  it('breaks a Connect stream off in the middle of a frame', async () => {
    const answer = await answerWith(Buffer.concat([frame('{"a":1}'), frame('{"b":2}').subarray(0, 8)]));
    expect(answer.complete).toBe(false);
    expect(answer.body).not.toContain('unavailable');
  });

  it('adds nothing to a Connect stream that had its end', async () => {
    const answer = await answerWith(Buffer.concat([frame('{"a":1}'), frame('{}', 2)]));
    expect(answer.complete).toBe(true);
    expect(answer.body).not.toContain('unavailable');
  });
});

describe('close', () => {
  it('ends open Connect streams with unavailable and other answers by breaking them off, of that sandbox only', async () => {
    await using fixture = await Fixture.open();
    for (const id of ['abc', 'other']) {
      await fixture.serve(fixture.add(id), 80, (req, res) => {
        const type = req.url === '/stream' ? connect : {};
        res.writeHead(200, type);
        res.write(req.url === '/half' ? frame('{"a":1}').subarray(0, 3) : frame('{"a":1}'));
      });
      fixture.sandboxes.get(id)?.ports.set(81, 0);
    }
    const begin = async (id: string, path: string) => {
      const outgoing = request({ port: fixture.port, path, headers: to(id, 80) }).end();
      const [res] = (await once(outgoing, 'response')) as [IncomingMessage];
      const chunks: Buffer[] = [];
      res.on('data', (chunk) => chunks.push(chunk));
      res.on('error', () => undefined);
      outgoing.on('error', () => undefined);
      await eventually('the first bytes', () => chunks.length > 0);
      return { res, outgoing, text: () => Buffer.concat(chunks).toString() };
    };
    const streamed = await begin('abc', '/stream');
    const plain = await begin('abc', '/plain');
    const other = await begin('other', '/stream');
    await fixture.gateway.close('abc', 'killed');
    await eventually('both ends', () => streamed.res.closed && plain.res.closed);
    expect(streamed.res.complete).toBe(true);
    expect(streamed.text()).toContain('{"error":{"code":"unavailable","message":"The sandbox was killed"}}');
    expect(plain.res.complete).toBe(false);
    expect(other.res.closed).toBe(false);
    expect(fixture.sandboxes.get('abc')?.dialed.every((socket) => socket.destroyed)).toBe(true);
    expect(fixture.gateway.stats.closedExchanges).toBe(2);
    await eventually('the books to be right', () => fixture.gateway.stats.openRequests === 1);
    other.outgoing.destroy();
  });

  it('breaks a Connect stream off in the middle of a frame', async () => {
    await using fixture = await Fixture.open();
    await fixture.serve(fixture.add('abc'), 80, (_req, res) => {
      res.writeHead(200, connect);
      res.write(frame('{"a":1}').subarray(0, 9));
    });
    const asked = ask(fixture.port, { headers: to('abc', 80) });
    await eventually('the first bytes', () => fixture.gateway.stats.responseBytes === 9);
    await fixture.gateway.close('abc');
    expect(await asked).toMatchObject({ status: 200, complete: false });
  });

  it('answers what was not answered yet', async () => {
    await using fixture = await Fixture.open();
    let arrived = 0;
    await fixture.serve(fixture.add('abc'), 80, () => void arrived++);
    const unary = ask(fixture.port, { headers: to('abc', 80) });
    const stream = ask(fixture.port, {
      method: 'POST',
      headers: { ...to('abc', 80), ...connect },
      body: frame('{}'),
    });
    await eventually('both requests', () => arrived === 2);
    void fixture.gateway.close('abc');
    expect((await unary).status).toBe(502);
    expect(JSON.parse((await unary).body)).toMatchObject({ sandboxId: 'abc', code: 502 });
    const ended = await stream;
    expect(ended).toMatchObject({
      status: 200,
      complete: true,
      headers: { 'content-type': 'application/connect+json' },
    });
    expect(ended.body).toContain('"code":"unavailable"');
  });

  it('does not wait for ever for a client that reads nothing', async () => {
    await using fixture = await Fixture.open({ config: { drainMs: 50 } });
    await fixture.serve(fixture.add('abc'), 80, (_req, res) => {
      res.writeHead(200, connect);
      const block = frame('x'.repeat(60_000));
      const write = () => {
        while (!res.destroyed && res.write(block));
      };
      res.on('drain', write);
      write();
    });
    const client = await rawClient(fixture.port);
    client.socket.pause();
    client.socket.write('GET / HTTP/1.1\r\nHost: 80-abc.test\r\n\r\n');
    await eventually('bytes to flow', () => fixture.gateway.stats.responseBytes > 1_000_000);
    await fixture.gateway.close();
    await eventually('the books to be right', () => fixture.gateway.stats.openRequests === 0);
    client.socket.destroy();
  });

  it('ends upgraded connections and forgets idle ones', async () => {
    await using fixture = await Fixture.open();
    const sandbox = fixture.add('abc');
    await fixture.serveTcp(sandbox, 80, (socket) => {
      socket.once('data', () =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
      );
    });
    await fixture.serve(sandbox, 81, (_req, res) => void res.end('ok'));
    await ask(fixture.port, { headers: to('abc', 81) });
    const client = await rawClient(fixture.port);
    client.socket.write('GET / HTTP/1.1\r\nHost: 80-abc.test\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    await eventually('the switch', () => client.text().includes('101'));
    const counts = () => [fixture.gateway.stats.idleConnections, fixture.gateway.stats.openUpgrades].join();
    await eventually('one connection of each kind', () => counts() === '1,1');
    await fixture.gateway.close('abc');
    await eventually('the end', client.closed);
    await eventually('the books to be right', () => counts() === '0,0');
    expect(sandbox.dialed.every((socket) => socket.destroyed)).toBe(true);
  });

  it('leaves to a pause the connections that nobody uses, and uses them again where the pause failed', async () => {
    await using fixture = await Fixture.open();
    const sandbox = fixture.add('abc');
    await fixture.serve(sandbox, 80, (_req, res) => void res.write('begun'));
    await fixture.serve(sandbox, 81, (_req, res) => void res.end('ok'));
    await ask(fixture.port, { headers: to('abc', 81) });
    const used = ask(fixture.port, { headers: to('abc', 80) });
    await eventually('the first bytes', () => fixture.gateway.stats.responseBytes >= 7);
    await eventually('an idle one', () => fixture.gateway.stats.idleConnections === 1);
    await fixture.gateway.close('abc', 'paused');
    expect((await used).complete).toBe(false);
    expect(sandbox.dialed.map((socket) => socket.destroyed)).toEqual([false, true]);
    expect((await ask(fixture.port, { headers: to('abc', 81) })).body).toBe('ok');
    expect(sandbox.dialed).toHaveLength(2);
    await eventually('it to be idle again', () => fixture.gateway.stats.idleConnections === 1);
    await fixture.gateway.close('abc');
    expect(sandbox.dialed.every((socket) => socket.destroyed)).toBe(true);
  });
});
