import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { Fixture, rawClient } from './fixture.js';

const host = 'Host: 80-abc.test\r\n';
const second = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';

describe('requests on whose end two servers could disagree', () => {
  it.each([
    [
      'a length beside a transfer coding',
      `POST / HTTP/1.1\r\n${host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${second}`,
    ],
    [
      'two lengths',
      `POST / HTTP/1.1\r\n${host}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!${second}`,
    ],
    [
      'the same length twice',
      `POST / HTTP/1.1\r\n${host}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello${second}`,
    ],
    ['a length that is no number', `POST / HTTP/1.1\r\n${host}Content-Length: 5x\r\n\r\nhello${second}`],
    ['a signed length', `POST / HTTP/1.1\r\n${host}Content-Length: +5\r\n\r\nhello${second}`],
    ['an unknown coding', `POST / HTTP/1.1\r\n${host}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${second}`],
    ['two codings', `POST / HTTP/1.1\r\n${host}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n${second}`],
    [
      'two coding headers',
      `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n${second}`,
    ],
    ['a bad chunk size', `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n${second}`],
    [
      'a space before the colon',
      `POST / HTTP/1.1\r\n${host}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${second}`,
    ],
    ['two hosts', `GET / HTTP/1.1\r\n${host}Host: 80-other.test\r\n\r\n`],
    ['no host', 'GET / HTTP/1.1\r\n\r\n'],
    ['a target in no known form', `GET 80-abc.test:80 HTTP/1.1\r\n${host}\r\n`],
    ['a target with another scheme', `GET ftp://80-abc.test/ HTTP/1.1\r\n${host}\r\n`],
    ['a target with user information', `GET http://x@80-abc.test/ HTTP/1.1\r\n${host}\r\n`],
  ])('%s', async (_name, bytes) => {
    await using fixture = await Fixture.open();
    const seen: string[] = [];
    const sockets: Socket[] = [];
    await fixture.serve(fixture.add('abc'), 80, (req, res) => {
      seen.push(req.url ?? '');
      sockets.push(req.socket);
      req.resume();
      req.on('error', () => undefined);
      res.end('ok');
    });
    const client = await rawClient(fixture.port);
    client.socket.write(bytes);
    client.socket.end();
    await eventually('the end', client.closed);
    expect(client.text()).toMatch(/^(HTTP\/1\.1 400 |$)/);
    expect(seen).not.toContain('/smuggled');
    if (!/bad chunk/.test(_name)) expect(seen).toEqual([]);
  });

  it('a service that puts a second answer behind the first poisons nobody', async () => {
    await using fixture = await Fixture.open();
    let connections = 0;
    await fixture.serveTcp(fixture.add('abc'), 80, (socket) => {
      const mine = ++connections;
      socket.on('data', () => {
        const extra = mine === 1 ? 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison' : '';
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok${extra}`);
      });
    });
    const client = await rawClient(fixture.port);
    for (let i = 1; i <= 3; i++) {
      client.socket.write(`GET / HTTP/1.1\r\n${host}\r\n`);
      await eventually(
        `answer ${i}`,
        () => client.text().split('HTTP/1.1 200').length === i + 1 && /ok$/.test(client.text()),
      );
    }
    expect(client.text()).not.toContain('poison');
    client.socket.destroy();
  });

  it('an upgrade with a body', async () => {
    await using fixture = await Fixture.open();
    fixture.add('abc');
    const client = await rawClient(fixture.port);
    client.socket.write(
      `POST / HTTP/1.1\r\n${host}Connection: Upgrade\r\nUpgrade: x\r\nContent-Length: 3\r\n\r\nabc`,
    );
    await eventually('the end', client.closed);
    expect(client.text()).toMatch(/^HTTP\/1\.1 400 /);
  });
});
