import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { Fixture, rawClient, reply } from './fixture.js';

const key = 'dGhlIHNhbXBsZSBub25jZQ==';
const hello =
  'GET /chat HTTP/1.1\r\nHost: 80-abc.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n' +
  `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`;

/** A masked text frame as a client sends it. */
function masked(text: string): Buffer {
  const mask = Buffer.from([1, 2, 3, 4]);
  const payload = Buffer.from(text).map((byte, i) => byte ^ (mask[i % 4] ?? 0));
  return Buffer.concat([Buffer.from([0x81, 0x80 | payload.length]), mask, payload]);
}

/** A server that echoes text frames in upper case. */
function echo(socket: Socket): void {
  let head = '';
  const onFrame = (bytes: Buffer) => {
    for (let at = 0; at + 6 <= bytes.length; ) {
      const length = (bytes[at + 1] ?? 0) & 0x7f;
      const mask = bytes.subarray(at + 2, at + 6);
      const payload = bytes.subarray(at + 6, at + 6 + length).map((byte, i) => byte ^ (mask[i % 4] ?? 0));
      const text = Buffer.from(Buffer.from(payload).toString().toUpperCase());
      socket.write(Buffer.concat([Buffer.from([0x81, text.length]), text]));
      at += 6 + length;
    }
  };
  const onHead = (chunk: Buffer) => {
    head += chunk.toString('latin1');
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    socket.off('data', onHead);
    socket.on('data', onFrame);
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    const rest = Buffer.from(head.slice(end + 4), 'latin1');
    if (rest.length > 0) onFrame(rest);
  };
  socket.on('data', onHead);
}

describe('WebSockets', () => {
  it('pass both ways, the first frame sent with the handshake too', async () => {
    await using fixture = await Fixture.open();
    await fixture.serveTcp(fixture.add('abc'), 80, echo);
    const client = await rawClient(fixture.port);
    client.socket.write(Buffer.concat([Buffer.from(hello), masked('early')]));
    await eventually('the first echo', () => client.text().endsWith('\x81\x05EARLY'));
    expect(client.text()).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
    expect(client.text()).toContain('Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
    client.socket.write(masked('later'));
    await eventually('the second echo', () => client.text().endsWith('\x81\x05LATER'));
    expect(fixture.gateway.stats).toMatchObject({ upgrades: 1, openUpgrades: 1 });
    client.socket.destroy();
    await eventually('the end', () => fixture.gateway.stats.openUpgrades === 0);
  });

  it('end at one side when the other leaves', async () => {
    await using fixture = await Fixture.open();
    const inside: Socket[] = [];
    await fixture.serveTcp(fixture.add('abc'), 80, (socket) => {
      inside.push(socket);
      echo(socket);
    });
    for (const leaver of ['client', 'service'] as const) {
      const client = await rawClient(fixture.port);
      client.socket.write(hello);
      await eventually('the switch', () => client.text().includes('\r\n\r\n'));
      const service = inside.at(-1);
      (leaver === 'client' ? client.socket : service)?.destroy();
      await eventually('both ends', () => client.closed() && service?.destroyed === true);
    }
    await eventually('the books to be right', () => fixture.gateway.stats.openUpgrades === 0);
  });

  it('that the service refuses get its answer', async () => {
    await using fixture = await Fixture.open();
    await fixture.serve(fixture.add('abc'), 80, (_req, res) =>
      reply(res, 426, 'not today', { 'X-Why': 'monday' }),
    );
    const client = await rawClient(fixture.port);
    client.socket.write(hello);
    await eventually('the end', client.closed);
    expect(client.text()).toMatch(/^HTTP\/1\.1 426 .*X-Why: monday.*not today/s);
  });

  it('that the gateway refuses get a proper answer', async () => {
    await using fixture = await Fixture.open({ config: { connectionLimitPerSandbox: 0 } });
    const attempt = async () => {
      const client = await rawClient(fixture.port);
      client.socket.write(hello);
      await eventually('the end', client.closed);
      return client.text();
    };
    expect(await attempt()).toMatch(/^HTTP\/1\.1 502 .*"The sandbox was not found"/s);
    const sandbox = fixture.add('abc', { allowPublicTraffic: false });
    expect(await attempt()).toMatch(/^HTTP\/1\.1 403 .*Svc-Traffic-Access-Token/s);
    sandbox.route.allowPublicTraffic = true;
    expect(await attempt()).toMatch(/^HTTP\/1\.1 429 .*"connectionLimit":0/s);
  });

  it('on a closed port are refused', async () => {
    await using fixture = await Fixture.open();
    fixture.add('abc');
    const client = await rawClient(fixture.port);
    client.socket.write(hello);
    await eventually('the end', client.closed);
    expect(client.text()).toMatch(/^HTTP\/1\.1 502 .*"port":80/s);
    await eventually('the books to be right', () => fixture.gateway.stats.openUpgrades === 0);
  });

  it('carry large messages both ways unchanged', async () => {
    await using fixture = await Fixture.open();
    await fixture.serveTcp(fixture.add('abc'), 80, (socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: raw\r\nConnection: Upgrade\r\n\r\n');
        socket.pipe(socket);
      });
    });
    const client = await rawClient(fixture.port);
    client.socket.write('GET / HTTP/1.1\r\nHost: 80-abc.test\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n');
    await eventually('the switch', () => client.text().includes('\r\n\r\n'));
    const head = client.bytes().length;
    const block = Buffer.alloc(3_000_000, 'abcdefg');
    client.socket.end(block);
    await eventually('the end', client.closed);
    expect(client.bytes().subarray(head).equals(block)).toBe(true);
  });

  it('offers of HTTP/2 are declined by an answer in HTTP/1.1', async () => {
    await using fixture = await Fixture.open();
    await fixture.serve(fixture.add('abc'), 80, (req, res) =>
      reply(res, 200, `upgrade: ${req.headers.upgrade}`),
    );
    const client = await rawClient(fixture.port);
    client.socket.write(
      'GET / HTTP/1.1\r\nHost: 80-abc.test\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAM\r\n\r\n',
    );
    await eventually('the end', client.closed);
    expect(client.text()).toMatch(/^HTTP\/1\.1 200 .*upgrade: undefined/s);
  });
});
