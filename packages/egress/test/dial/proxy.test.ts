import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { makeAuthority } from '../support/authority.js';
import { readAll, startServer, startTestEgress } from '../support/egress.js';
import { startSocks } from '../support/socks.js';
import { ask, startPlainWeb } from '../support/web.js';

const echo = () => startServer((socket) => socket.pipe(socket));
const PASSWORD = 'pass-word-that-nobody-sees';

async function roundTrip(egress: Awaited<ReturnType<typeof startTestEgress>>) {
  const socket = egress.connect({ address: '127.0.0.9', port: 25 });
  socket.write('hello');
  const answered = new Promise<string>((resolve) => {
    socket.once('data', (data) => resolve(String(data)));
  });
  return Promise.race([answered, readAll(socket).then(({ end }) => end)]);
}

describe('a SOCKS5 proxy of a sandbox', () => {
  it('is asked for the address of a connection, with the name and password', async () => {
    const egress = await startTestEgress();
    const proxy = await startSocks((await echo()).port, { user: 'u', password: PASSWORD });
    egress.names.set('proxy.example', ['127.0.0.1']);
    await egress.setPolicy({
      proxy: { address: `proxy.example:${proxy.port}`, username: 'u', password: PASSWORD },
    });
    expect(await roundTrip(egress)).toBe('hello');
    expect(proxy.asked).toEqual(['127.0.0.9:25']);
  });

  it('is asked for the name where the name was allowed, which is not resolved here', async () => {
    const egress = await startTestEgress();
    const web = await startPlainWeb((_, response) => response.end('ok'));
    const proxy = await startSocks(web.port);
    await egress.setPolicy({
      allowOut: ['a.example'],
      denyOut: ['0.0.0.0/0'],
      proxy: { address: `127.0.0.1:${proxy.port}` },
    });
    const socket = egress.connect({ address: '9.9.9.9', port: 80 });
    expect((await ask(socket, 'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n')).status).toBe(200);
    expect([proxy.asked, egress.asked]).toEqual([['a.example:80'], []]);
  });

  it('is reached over TLS, with a certificate that has to hold', async () => {
    const [authority, stranger] = await Promise.all([makeAuthority('proxy'), makeAuthority('stranger')]);
    const egress = await startTestEgress();
    const proxy = await startSocks((await echo()).port, { authority });
    const address = `127.0.0.1:${proxy.port}`;
    const through = (caCert: string) =>
      egress.setPolicy({ proxy: { address, tls: { enabled: true, serverName: 'proxy.example', caCert } } });
    await through(authority.certificate);
    expect(await roundTrip(egress)).toBe('hello');
    await through(stranger.certificate);
    expect(await roundTrip(egress)).toBe('reset');
    await egress.report(({ rule }) => rule.startsWith('proxy certificate or TLS'));
  });

  it.each([
    ['refuses the password', { user: 'u', password: 'other' }, 'proxy refused the username or password'],
    ['refuses the connection', { reply: 5 }, 'connection refused'],
    ['says that the rules forbid it', { reply: 2 }, 'refused by the proxy'],
  ])('that %s lets nothing pass, and nothing leaves without it', async (_what, options, rule) => {
    const egress = await startTestEgress();
    const direct = await echo();
    egress.servers.set(25, direct.port);
    const proxy = await startSocks(direct.port, options);
    await egress.setPolicy({
      proxy: { address: `127.0.0.1:${proxy.port}`, username: 'u', password: PASSWORD },
    });
    expect(await roundTrip(egress)).toBe('reset');
    await egress.report((report) => report.outcome === 'failed' && report.rule === rule);
    expect(JSON.stringify(egress.reports)).not.toContain(PASSWORD);
  });

  it('that is not there, speaks something else or hangs lets nothing pass', async () => {
    const gone = await echo();
    await new Promise((resolve) => gone.server.close(resolve));
    const nonsense = await startServer((socket) => socket.end('HTTP/1.1 400 no\r\n\r\n'));
    const silent = await startServer(() => undefined);
    for (const [{ port }, dialMs, why] of [
      [gone, 10_000, 'proxy unreachable'],
      [nonsense, 10_000, 'proxy does not speak SOCKS5'],
      [silent, 300, 'connect timeout'],
    ] as const) {
      const egress = await startTestEgress({ dialMs });
      await egress.setPolicy({ proxy: { address: `127.0.0.1:${port}` } });
      expect(await roundTrip(egress)).toBe('reset');
      await egress.report(({ rule }) => rule === why);
    }
  });

  it('on a private address is never connected to', async () => {
    const egress = await startTestEgress({ allowRanges: [] });
    const proxy = await startSocks((await echo()).port);
    await egress.setPolicy({ proxy: { address: `127.0.0.1:${proxy.port}` } });
    const socket = egress.connect({ address: '9.9.9.9', port: 25 });
    expect((await readAll(socket)).end).toBe('reset');
    expect(proxy.asked).toEqual([]);
  });

  it('is replaced at once: what goes through the one before is cut', async () => {
    const egress = await startTestEgress();
    const { port } = await echo();
    const [first, second] = [await startSocks(port), await startSocks(port)];
    await egress.setPolicy({ proxy: { address: `127.0.0.1:${first.port}` } });
    const socket = egress.connect({ address: '127.0.0.9', port: 25 });
    socket.write('a');
    await once(socket, 'data');
    const ended = readAll(socket);
    await egress.setPolicy({ proxy: { address: `127.0.0.1:${second.port}` } });
    expect((await ended).end).toBe('reset');
    expect(await roundTrip(egress)).toBe('hello');
    expect(second.asked).toHaveLength(1);
  });
});
