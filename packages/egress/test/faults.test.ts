import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it, vi } from 'vitest';
import { makeAuthority } from './support/authority.js';
import { readAll, SANDBOX, startServer, startTestEgress } from './support/egress.js';
import { ask, clientTls, startPlainWeb, startWeb } from './support/web.js';

const internet = await makeAuthority('internet');
const echo = () => startServer((socket) => socket.pipe(socket));

describe('a connection on the port of TLS', () => {
  it('is decided by its name when that comes a byte at a time', async () => {
    const egress = await startTestEgress();
    const web = await startWeb(internet, (_, response) => response.end('ok'));
    egress.servers.set(443, web.port);
    egress.names.set('a.example', ['127.0.0.1']);
    await egress.setPolicy({ allowOut: ['a.example'], denyOut: ['0.0.0.0/0'] });
    const socket = egress.connect({ address: '9.9.9.9', port: 443 });
    const write = socket.write.bind(socket);
    // The client's bytes are cut into segments of one byte.
    socket.write = ((chunk: Buffer) => {
      let result = true;
      for (const byte of chunk) result = write(Buffer.from([byte]));
      return result;
    }) as never;
    const [secured] = await Promise.all([clientTls(socket, 'a.example', internet.certificate)]);
    socket.write = write as never;
    expect((await ask(secured, 'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n')).status).toBe(200);
  });

  it.each([
    ['nothing', ''],
    ['half a name', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc'],
    ['something else', 'SSH-2.0-client\r\n'],
    ['broken TLS', '\x16\x03\x01\x00\x04\x01\x00\x00\x00'],
  ])('that says %s is decided by its address', async (_what, text) => {
    const egress = await startTestEgress({ peekMs: 100 });
    await egress.setPolicy({ allowOut: ['127.0.0.8', '*'], denyOut: ['0.0.0.0/0'] });
    const server = await startServer((socket) => socket.end('greeting'), '127.0.0.8');
    egress.servers.set(443, server.port);
    const allowed = egress.connect({ address: '127.0.0.8', port: 443 });
    allowed.write(Buffer.from(text, 'latin1'));
    expect((await readAll(allowed)).bytes.toString()).toBe('greeting');
    const denied = egress.connect({ address: '127.0.0.9', port: 443 });
    denied.write(Buffer.from(text, 'latin1'));
    expect((await readAll(denied)).end).toBe('reset');
  });

  it('without a name is decided by its address', async () => {
    const egress = await startTestEgress();
    await egress.setPolicy({ allowOut: ['*'], denyOut: ['0.0.0.0/0'] });
    const socket = egress.connect({ address: '9.9.9.9', port: 443 });
    const client = connectTls({ socket, servername: '' });
    client.on('error', () => undefined);
    await egress.report(({ outcome, rule }) => outcome === 'denied' && rule === 'denyOut[0] 0.0.0.0/0');
  });
});

describe('the egress process', () => {
  it('keeps policies and flows while the server is away, and answers the next one', async () => {
    const egress = await startTestEgress({ answerMs: 1_500 });
    const { port } = await echo();
    await egress.setPolicy({ allowOut: ['127.0.0.0/8', 'a.example'], denyOut: ['0.0.0.0/0'] });
    const socket = egress.connect({ port });
    socket.write('a');
    await once(socket, 'data');
    egress.control.close();
    await egress.control.closed;
    socket.write('b');
    await once(socket, 'data');
    // A name cannot be resolved without the server: what was allowed by it fails, and does not go to the address.
    const named = egress.connect({ address: '127.0.0.1', port: 80 });
    named.write('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n');
    expect((await readAll(named)).end).toBe('reset');
    const again = await egress.reconnect();
    await egress.report(({ outcome, rule }) => outcome === 'failed' && rule === 'name not resolved');
    again.close();
  });

  it('resolves names as they were last seen while the server is away, for who asked for them', async () => {
    const egress = await startTestEgress({ answerMs: 1_500, dnsUdp: { host: '127.0.0.1', port: 0 } });
    const { port } = await startPlainWeb((_, response) => response.end('ok'));
    egress.servers.set(80, port);
    for (const name of ['a.example', 'b.example']) egress.names.set(name, ['127.0.0.1']);
    const policy = { allowOut: ['*.example'], denyOut: ['0.0.0.0/0'], rules: {} };
    await egress.setPolicy(policy);
    await egress.control.setSandbox({ id: 'other', address: '10.9.0.6', policy });
    const get = (host: string, source = SANDBOX) => {
      const socket = egress.connect({ address: '9.9.9.9', port: 80, source });
      return ask(socket, `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`).then(
        ({ status }) => status,
        () => 'cut',
      );
    };
    expect(await get('a.example')).toBe(200);
    // Names may lead to another address the next time, and are looked up anew.
    expect(await get('a.example')).toBe(200);
    expect(egress.asked).toEqual(['a.example', 'a.example']);
    egress.control.close();
    await egress.control.closed;
    expect(await get('a.example')).toBe(200);
    expect(await get('b.example')).toBe('cut');
    expect(await get('a.example', '10.9.0.6')).toBe('cut');
    expect(egress.asked).toHaveLength(2);
  });

  it('refuses a policy that it cannot read, and keeps the one before', async () => {
    const egress = await startTestEgress();
    const { port } = await echo();
    await egress.setPolicy({ denyOut: ['0.0.0.0/0'] });
    await expect(egress.setPolicy({ denyOut: ['nonsense'] })).rejects.toThrow("'nonsense' is not");
    await expect(egress.control.setSandbox({ id: 'x', address: 'here' })).rejects.toThrow("'here' is not");
    await expect(egress.control.setAuthority({ certificate: 'x', privateKey: 'y' })).rejects.toThrow(
      'authority',
    );
    expect((await readAll(egress.connect({ port }))).end).toBe('reset');
  });

  it('reports to only one reader: the last', async () => {
    const egress = await startTestEgress();
    const second = await egress.reconnect();
    await egress.control.closed;
    second.close();
  });

  it('cuts a flow whose sandbox does not read what waits for it', async () => {
    const egress = await startTestEgress();
    await egress.setPolicy({});
    const { port } = await startServer((socket) => {
      const send = () => {
        while (socket.write(Buffer.alloc(2 ** 20)));
      };
      socket.on('drain', send);
      socket.once('close', () => gone());
      send();
    });
    let gone!: () => void;
    const closed = new Promise<void>((resolve) => {
      gone = resolve;
    });
    const socket = egress.connect({ port });
    await once(socket, 'readable');
    await egress.setPolicy({ denyOut: ['0.0.0.0/0'] });
    await closed;
  });

  it('reads no faster than the other side takes', async () => {
    const egress = await startTestEgress();
    await egress.setPolicy({});
    // A server that never reads, and a client that writes until nobody takes more.
    const { port } = await startServer((socket) => socket.pause());
    const socket = egress.connect({ port });
    const block = Buffer.alloc(2 ** 20);
    let written = 0;
    while (written < 200 && (socket.write(block) || (await drained(socket)))) written += 1;
    expect(written).toBeLessThan(64);
  });

  const heavy = process.env.SVC_HEAVY ? it : it.skip;
  heavy('serves a neighbour while a sandbox opens 10,000 connections', async () => {
    const egress = await startTestEgress({ connectionsPerSandbox: 1_000 });
    await egress.setPolicy({});
    const policy = { allowOut: [], denyOut: [], rules: {} };
    await egress.control.setSandbox({ id: 'neighbour', address: '10.9.0.6', policy });
    const { port } = await echo();
    let cut = 0;
    for (let count = 0; count < 10_000; count++) {
      egress.connect({ port, source: SANDBOX }).once('close', () => {
        cut += 1;
      });
      if (count % 500 === 0) await new Promise(setImmediate);
    }
    const socket = egress.connect({ port, source: '10.9.0.6' });
    socket.write('a');
    await once(socket, 'data');
    await egress.report(({ rule }) => rule === 'connection limit');
    await vi.waitUntil(() => cut >= 9_000, { timeout: 50_000 });
    expect(cut).toBe(9_000);
  });
});

/** Returns true when a socket takes more within a moment. */
function drained(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), 500);
    socket.once('drain', () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}
