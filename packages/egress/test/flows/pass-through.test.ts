import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { reset } from '../../src/failures/reset.js';
import { readAll, SANDBOX, startServer, startTestEgress } from '../support/egress.js';

const echo = () => startServer((socket) => socket.pipe(socket));

describe('a connection of a sandbox', () => {
  it('passes when nothing denies it, by halves, and is reported with its bytes', async () => {
    const egress = await startTestEgress();
    await egress.setPolicy({ denyOut: ['9.9.9.9'] });
    const { port } = await echo();
    const socket = egress.connect({ port });
    socket.end('hello');
    expect(await readAll(socket)).toEqual({ bytes: Buffer.from('hello'), end: 'end' });
    const seen = { sandboxId: 'sandbox', execution: 'execution', address: '127.0.0.1', port };
    expect(await egress.report(({ attempts }) => attempts === 1)).toMatchObject({
      ...seen,
      outcome: 'allowed',
      rule: 'default',
    });
    const total = (count: 'bytesSent' | 'bytesReceived') =>
      egress.reports.reduce((sum, each) => sum + each[count], 0);
    await egress.report(() => total('bytesSent') === 5 && total('bytesReceived') === 5);
  });

  it('is reset when a rule denies it, which the report names', async () => {
    const egress = await startTestEgress();
    await egress.setPolicy({ denyOut: ['127.0.0.0/8'] });
    const socket = egress.connect({ port: 22 });
    expect((await readAll(socket)).end).toBe('reset');
    await egress.report(({ outcome, rule }) => outcome === 'denied' && rule === 'denyOut[0] 127.0.0.0/8');
  });

  it('is reset when the sandbox is not known, or has no policy', async () => {
    const egress = await startTestEgress();
    const { port } = await echo();
    expect((await readAll(egress.connect({ port }))).end).toBe('reset');
    await egress.control.setSandbox({ id: 'open', address: SANDBOX });
    expect((await readAll(egress.connect({ port }))).end).toBe('reset');
  });

  it('never reaches private ranges, under any policy', async () => {
    const egress = await startTestEgress({ allowRanges: [] });
    await egress.setPolicy({ allowOut: ['127.0.0.1', '*'], denyOut: ['0.0.0.0/0'] });
    const { port } = await echo();
    for (const address of ['127.0.0.1', '10.0.0.1', '169.254.169.254', SANDBOX])
      expect((await readAll(egress.connect({ address, port }))).end).toBe('reset');
    await egress.report(({ rule }) => rule === 'private range 169.254.0.0/16');
  });

  it('is cut at once when the policy no longer allows it, and continues when it does', async () => {
    const egress = await startTestEgress();
    await egress.setPolicy({ denyOut: ['9.9.9.9'] });
    const { port } = await echo();
    const socket = egress.connect({ port });
    socket.write('a');
    await once(socket, 'data');
    await egress.setPolicy({ allowOut: ['127.0.0.0/8'], denyOut: ['0.0.0.0/0'] });
    socket.write('b');
    await once(socket, 'data');
    const ended = readAll(socket);
    await egress.setPolicy({ denyOut: ['0.0.0.0/0'] });
    expect((await ended).end).toBe('reset');
  });

  it('is cut when its sandbox is forgotten, and when its address goes to another', async () => {
    const egress = await startTestEgress();
    const { port } = await echo();
    const open = async () => {
      const socket = egress.connect({ port });
      socket.write('a');
      await once(socket, 'data');
      return { ended: readAll(socket) };
    };
    await egress.setPolicy({});
    const first = await open();
    await egress.control.removeSandbox('sandbox');
    expect((await first.ended).end).toBe('reset');
    await egress.setPolicy({});
    const second = await open();
    const policy = { allowOut: [], denyOut: [], rules: {} };
    await egress.control.setSandbox({ id: 'other', address: SANDBOX, policy });
    expect((await second.ended).end).toBe('reset');
    const third = await open();
    await egress.control.keepSandboxes([]);
    expect((await third.ended).end).toBe('reset');
  });

  it('is cut when the policy of its sandbox cannot be read, while those of others stay', async () => {
    const egress = await startTestEgress();
    const { port } = await echo();
    const policy = { allowOut: [], denyOut: [], rules: {} };
    await egress.setPolicy({});
    await egress.control.setSandbox({ id: 'other', address: '10.9.0.6', policy });
    const open = async (source: string) => {
      const socket = egress.connect({ port, source });
      socket.write('a');
      await once(socket, 'data');
      return socket;
    };
    const [own, other] = [await open(SANDBOX), await open('10.9.0.6')];
    const ended = readAll(own);
    await expect(egress.setPolicy({ denyOut: ['10.0.0.0/08'] })).rejects.toThrow(
      "'10.0.0.0/08' is not an IP",
    );
    expect((await ended).end).toBe('reset');
    expect((await readAll(egress.connect({ port }))).end).toBe('reset');
    other.write('b');
    await once(other, 'data');
  });

  it('is refused beyond the limit of its sandbox, while others still connect', async () => {
    const egress = await startTestEgress({ connectionsPerSandbox: 3 });
    await egress.setPolicy({});
    const policy = { allowOut: [], denyOut: [], rules: {} };
    await egress.control.setSandbox({ id: 'neighbour', address: '10.9.0.6', policy });
    const { port } = await echo();
    const open = async (source?: string) => {
      const socket = egress.connect({ port, ...(source === undefined ? {} : { source }) });
      socket.write('a');
      const opened = new Promise((resolve) => socket.once('data', () => resolve('open')));
      return Promise.race([opened, readAll(socket).then(({ end }) => end)]);
    };
    expect([await open(), await open(), await open(), await open()]).toEqual([
      'open',
      'open',
      'open',
      'reset',
    ]);
    expect(await open('10.9.0.6')).toBe('open');
    await egress.report(({ rule }) => rule === 'connection limit');
  });

  it('is reset when the other side resets, and when nobody listens there', async () => {
    const egress = await startTestEgress();
    await egress.setPolicy({});
    const { port, server } = await startServer((socket) =>
      socket.once('data', (data) =>
        String(data) === 'a' ? reset(socket) : socket.write('last bytes', () => reset(socket)),
      ),
    );
    for (const text of ['a', 'b']) {
      const socket = egress.connect({ port });
      socket.write(text);
      expect((await readAll(socket)).end).toBe('reset');
    }
    await new Promise((resolve) => server.close(resolve));
    expect((await readAll(egress.connect({ port }))).end).toBe('reset');
    await egress.report(({ outcome, rule }) => outcome === 'failed' && rule === 'ECONNREFUSED');
  });
});

describe('an allowed name', () => {
  it.each([['HTTP', 80, 'GET / HTTP/1.1\r\nHost: A.Example.:80\r\nConnection: close\r\n\r\n']])(
    'in %s is resolved anew and connected to, wherever the sandbox wanted to go',
    async (_, port, text) => {
      const egress = await startTestEgress();
      await egress.setPolicy({ allowOut: ['a.example'], denyOut: ['0.0.0.0/0'] });
      egress.names.set('a.example', ['127.0.0.5']);
      const server = await startServer(
        (socket) => socket.once('data', () => socket.end('HTTP/1.1 204 x\r\nConnection: close\r\n\r\n')),
        '127.0.0.5',
      );
      egress.servers.set(port, server.port);
      const socket = egress.connect({ address: '9.9.9.9', port });
      socket.write(text);
      expect((await readAll(socket)).bytes.toString()).toContain('204');
      expect(egress.asked).toEqual(['a.example']);
    },
  );

  it('is resolved anew for each connection: answers that change to private addresses lead nowhere', async () => {
    const egress = await startTestEgress();
    await egress.setPolicy({ allowOut: ['moving.example'], denyOut: ['0.0.0.0/0'] });
    const server = await startServer(
      (socket) => socket.once('data', () => socket.end('HTTP/1.1 204 x\r\nConnection: close\r\n\r\n')),
      '127.0.0.5',
    );
    egress.servers.set(80, server.port);
    const answer = async (...addresses: string[]) => {
      egress.names.set('moving.example', addresses);
      const socket = egress.connect({ address: '9.9.9.9', port: 80 });
      socket.write('GET / HTTP/1.1\r\nHost: moving.example\r\nConnection: close\r\n\r\n');
      const { bytes, end } = await readAll(socket);
      return bytes.length === 0 ? end : String(bytes).slice(9, 12);
    };
    expect(await answer('127.0.0.5')).toBe('204');
    expect(await answer('10.0.0.1')).toBe('reset');
    expect(await answer('169.254.169.254', '192.168.0.1')).toBe('reset');
    expect(await answer('10.0.0.1', '127.0.0.5')).toBe('204');
    await egress.report(({ outcome, rule }) => outcome === 'failed' && rule === 'private range 10.0.0.0/8');
  });

  it('is refused when it resolves to a private address', async () => {
    const egress = await startTestEgress({ allowRanges: [] });
    await egress.setPolicy({ allowOut: ['rebound.example'], denyOut: ['0.0.0.0/0'] });
    egress.names.set('rebound.example', ['127.0.0.1', '10.0.0.1']);
    const socket = egress.connect({ address: '9.9.9.9', port: 80 });
    socket.write('GET / HTTP/1.1\r\nHost: rebound.example\r\n\r\n');
    expect((await readAll(socket)).end).toBe('reset');
    await egress.report(({ outcome, rule }) => outcome === 'failed' && rule === 'private range 10.0.0.0/8');
  });
});
