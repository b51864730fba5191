import { parseHost } from '@svc/network-policy';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Questions } from '../../src/control/questions.js';
import { shareOf } from '../../src/serve/flow-server.js';
import { makeAuthority } from '../support/authority.js';
import { readAll, SANDBOX, startServer, startTestEgress } from '../support/egress.js';
import { ask, clientTls, startPlainWeb, startWeb } from '../support/web.js';

const policy = { allowOut: [], denyOut: [], rules: {} };
const get = (host: string, more = '') => `GET / HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;

describe('what one sandbox may take of the process', () => {
  it.each([
    [0, 2_000],
    [15_000, 2_000],
    [16_001, 1_999],
    [19_998, 1],
    [20_000, 0],
  ])('of connections, while %i are open, is %i', (open, share) => {
    expect(shareOf({ perSandbox: 2_000, total: 20_000, peekMs: 1 }, open)).toBe(share);
  });

  it('of connections leaves some for others, however many sandboxes take all that they may', async () => {
    const egress = await startTestEgress({ connectionsPerSandbox: 16, connections: 32 });
    const { port } = await startServer((socket) => socket.pipe(socket));
    const hostile = Array.from({ length: 6 }, (_, at) => `10.9.1.${at + 1}`);
    for (const address of [...hostile, '10.9.0.6'])
      await egress.control.setSandbox({ id: address, address, policy });
    const ends = hostile.map(async (source) => {
      for (let count = 0; count < 16; count += 1) await attempt(source);
    });
    await Promise.all(ends);
    expect(await attempt('10.9.0.6')).toBe('served');

    async function attempt(source: string): Promise<'served' | 'refused'> {
      const socket = egress.connect({ port, source });
      socket.write('a');
      return new Promise((resolve) => {
        socket.once('data', () => resolve('served')).once('close', () => resolve('refused'));
      });
    }
  });

  it('of connections to the outside is twice as many, with any hosts in its requests', async () => {
    const egress = await startTestEgress({ connectionsPerSandbox: 2, connections: 100 });
    egress.servers.set(80, (await startPlainWeb((_, response) => response.end('ok'))).port);
    const hosts = ['a', 'b', 'c', 'd', 'e'].map((name) => `${name}.example`);
    for (const host of hosts) egress.names.set(host, ['127.0.0.1']);
    await egress.setPolicy({ allowOut: hosts, denyOut: ['0.0.0.0/0'] });
    const socket = egress.connect({ address: '9.9.9.9', port: 80 });
    for (const host of hosts.slice(0, 4)) expect((await ask(socket, get(host))).status).toBe(200);
    await expect(ask(socket, get(hosts[4]!))).rejects.toThrow('cut');
    await egress.report(({ outcome, rule }) => outcome === 'failed' && rule === 'connection limit');
    // All of them went with the connection that they were for.
    const next = egress.connect({ address: '9.9.9.9', port: 80 });
    expect((await ask(next, get(hosts[4]!))).status).toBe(200);
  });

  it('of questions to the server leaves room for others', async () => {
    const questions = new Questions({ answerMs: 60_000 });
    const asked: string[] = [];
    questions.sendTo(({ id }) => asked.push(id!));
    const ask = (id: string) => questions.dns({ id, address: SANDBOX }, Buffer.from('query'));
    const waiting = Array.from({ length: 1_000 }, () => ask('hostile'));
    await expect(ask('hostile')).rejects.toThrow('no answer');
    const other = ask('other');
    for (const id of asked)
      questions.answer({ id, answer: { case: 'dns', value: Buffer.from('reply') } } as never);
    await Promise.all([...waiting, other]);
    const again = ask('hostile');
    questions.answer({ id: asked.at(-1)!, answer: { case: 'dns', value: Buffer.from('reply') } } as never);
    await again;
  });

  it('of time for a host that is none is next to nothing', () => {
    const before = process.cpuUsage();
    for (let round = 0; round < 200; round += 1) expect(parseHost('é'.repeat(30_000))).toBeUndefined();
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000);
  });

  it('of time for a request that never comes is limited, before the first and between two', async () => {
    const egress = await startTestEgress({ nextRequestMs: 1_500 });
    egress.servers.set(80, (await startPlainWeb((_, response) => response.end('ok'))).port);
    egress.names.set('a.example', ['127.0.0.1']);
    await egress.setPolicy({ allowOut: ['a.example'], denyOut: ['0.0.0.0/0'] });
    const slow = egress.connect({ address: '9.9.9.9', port: 80 });
    slow.write('GET / HTTP/1.1\r\nHost: a.example\r\nx: ');
    expect((await readAll(slow)).end).toBe('reset');
    const kept = egress.connect({ address: '9.9.9.9', port: 80 });
    expect((await ask(kept, get('a.example'))).status).toBe(200);
    kept.write('GET / HTTP/1.1\r\nHost: a.example\r\nx: ');
    expect((await readAll(kept)).end).toBe('reset');
  });

  it('of memory for requests that wait is limited', async () => {
    const egress = await startTestEgress();
    egress.servers.set(80, (await startPlainWeb(() => undefined)).port);
    egress.names.set('a.example', ['127.0.0.1']);
    await egress.setPolicy({ allowOut: ['a.example'], denyOut: ['0.0.0.0/0'] });
    const socket = egress.connect({ address: '9.9.9.9', port: 80 });
    socket.write(get('a.example', `x: ${'y'.repeat(30_000)}\r\n`).repeat(4));
    expect((await readAll(socket)).end).toBe('reset');
  });
});

describe('a connection whose TLS is opened', async () => {
  const [platform, internet] = await Promise.all([makeAuthority('platform'), makeAuthority('internet')]);

  async function start(listener: Parameters<typeof startWeb>[1]) {
    const egress = await startTestEgress();
    egress.servers.set(443, (await startWeb(internet, listener)).port);
    egress.names.set('api.example', ['127.0.0.1']);
    await egress.control.setAuthority(platform, internet.certificate);
    await egress.setPolicy({
      allowOut: ['api.example'],
      denyOut: ['0.0.0.0/0'],
      rules: { 'api.example': { headers: { 'x-static': 's' } } },
    });
    return (protocols?: string[]) =>
      clientTls(
        egress.connect({ address: '9.9.9.9', port: 443 }),
        'api.example',
        platform.certificate,
        protocols,
      );
  }

  it('remembers none of the connections that it had to the outside', async () => {
    const client = await start((_, response) => {
      response.writeHead(200, { 'content-length': 2, connection: 'close' });
      response.end('ok');
    });
    const waiting = new Map<EventTarget, number>();
    const watch = (method: 'addEventListener' | 'removeEventListener', change: number) => {
      const real = EventTarget.prototype[method];
      const spy = vi.spyOn(EventTarget.prototype, method).mockImplementation(function (
        this: EventTarget,
        ...args: Parameters<typeof real>
      ) {
        if (args[0] === 'abort') waiting.set(this, (waiting.get(this) ?? 0) + change);
        real.apply(this, args);
      });
      onTestFinished(() => spy.mockRestore());
    };
    watch('addEventListener', 1);
    watch('removeEventListener', -1);
    const socket = await client();
    for (let round = 0; round < 20; round += 1)
      expect((await ask(socket, get('api.example'))).status).toBe(200);
    expect(Math.max(...waiting.values())).toBeLessThan(8);
  });

  it('speaks HTTP/1.1 when a sandbox has a hundred over HTTP/2 already', async () => {
    const client = await start((_, response) => response.end('ok'));
    const both = ['h2', 'http/1.1'];
    const first = await client(both);
    await Promise.all(Array.from({ length: 99 }, () => client(both)));
    expect((await client(both)).alpnProtocol).toBe('http/1.1');
    await expect(client(['h2'])).rejects.toThrow();
    first.destroy();
    await vi.waitUntil(() => client(['h2']).then(Boolean, () => false), { timeout: 100_000 });
  });
});
