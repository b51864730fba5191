import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '#support/eventually';
import { addressKey } from '../../src/api/limits/connections.js';
import { settings } from '../../src/config/settings.js';
import { withDefaults } from '../../src/config/walk.js';
import { connectionLimits } from '../../src/process/connection-limits.js';
import { createSandbox, run } from '../support/sandboxes.js';
import { startTestServer } from '../support/server.js';

/** Opens connections and holds them; what becomes of them is the server's business. */
function hold(port: number, count: number, from: string): Socket[] {
  const sockets = Array.from({ length: count }, () => {
    const socket = connect({ host: '127.0.0.1', port, localAddress: from });
    socket.on('error', () => undefined);
    socket.resume();
    return socket;
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  return sockets;
}

const closed = (sockets: Socket[]) => sockets.filter((socket) => socket.closed).length;
const portOf = (url: string | undefined) => Number(new URL(url ?? '').port);

async function start(connections: Record<string, number>) {
  const test = await startTestServer({ tuning: { connections } });
  onTestFinished(() => test[Symbol.asyncDispose]());
  return test;
}

/** Answers over one connection: status, and for how long it says that it is kept. */
async function keptAfter(
  url: string | undefined,
  ...requests: [path: string, headers: Record<string, string>][]
) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const answers: [number | undefined, string | undefined][] = [];
  for (const [path, headers] of requests) {
    const sent = request(`${url}${path}`, { agent, headers });
    sent.end();
    const [response] = await once(sent, 'response');
    response.resume();
    await once(response, 'end');
    answers.push([response.statusCode, response.headers['keep-alive']]);
  }
  return answers;
}

describe('idle connections', () => {
  it('thousands of them from many addresses keep nobody from the API, the gateway or the operator port', async () => {
    const test = await start({
      api: 200,
      gateway: 200,
      operator: 50,
      perAddress: 40,
      strangerIdleMs: 60_000,
    });
    const ports = [test.server.apiUrl, test.server.sandboxUrl, test.server.operatorUrl].map(portOf);
    const sandbox = await createSandbox(test);
    const held: Socket[] = [];
    for (let at = 2; at < 32; at += 1)
      for (const port of ports) held.push(...hold(port, 40, `127.0.0.${at}`));
    await eventually('all were taken or turned away', () => held.every((socket) => !socket.connecting));
    // 200, 200 and 50 may be held; the rest was closed.
    await eventually('the limits were reached', () => closed(held) >= 3600 - 450);
    expect((await test.api('GET', '/health')).status).toBeLessThan(300);
    expect((await test.api('GET', '/v2/sandboxes')).status).toBe(200);
    expect(await run(test, sandbox, 'echo fine')).toBe('fine\n');
    const metrics = await (await fetch(`${test.server.operatorUrl}/metrics`)).text();
    expect(Number(/svc_connections\{listener="api"\} (\d+)/.exec(metrics)?.[1])).toBeLessThanOrEqual(200);
    for (const listener of ['gateway', 'operator'])
      expect(
        Number(
          new RegExp(`svc_connections_evicted_total\\{listener="${listener}"\\} (\\d+)`).exec(metrics)?.[1],
        ),
      ).toBeGreaterThan(900);
  });

  it('one address gets a plain refusal beyond its share, while others get in', async () => {
    const test = await start({ api: 100, perAddress: 20, strangerIdleMs: 60_000 });
    const port = portOf(test.server.apiUrl);
    const held = hold(port, 20, '127.0.0.9');
    await Promise.all(held.map((socket) => once(socket, 'connect')));
    const refused = connect({ host: '127.0.0.1', port, localAddress: '127.0.0.9' });
    refused.on('error', () => undefined);
    const answer = await text(refused);
    expect(answer).toMatch(/^HTTP\/1\.1 429 Too Many Requests\r\n/);
    expect(answer).toContain('"too many connections from this address"');
    expect((await test.api('GET', '/health')).status).toBeLessThan(300);
    // A place that is given back is free again.
    held[0]!.destroy();
    await eventually('there is a place', async () => {
      const [again] = hold(port, 1, '127.0.0.9');
      again!.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
      const [first] = (await Promise.race([once(again!, 'data'), once(again!, 'close')])) as [Buffer];
      return String(first).startsWith('HTTP/1.1 2');
    });
  });

  it('say for how long they are kept, after any request', async () => {
    const test = await start({ strangerIdleMs: 30_000 });
    const volume = await test.api('POST', '/volumes', { name: 'kept' });
    expect(volume.status).toBe(201);
    const file = `/volumecontent/${volume.body.volumeID}/dir?path=/`;
    const key = { 'X-API-Key': test.server.apiKey };
    expect(
      await keptAfter(
        test.server.apiUrl,
        ['/health', {}],
        ['/nowhere', {}],
        ['/v2/sandboxes', { 'X-API-Key': 'wrong' }],
        [file, { Authorization: 'Bearer wrong' }],
        ['/v2/sandboxes', key],
        ['/health', {}],
      ),
    ).toEqual([
      [204, 'timeout=28'],
      [404, 'timeout=28'],
      [401, 'timeout=28'],
      [401, 'timeout=28'],
      [200, 'timeout=620'],
      [204, 'timeout=620'],
    ]);
    expect(
      await keptAfter(test.server.apiUrl, [file, { Authorization: `Bearer ${volume.body.token}` }]),
    ).toEqual([[200, 'timeout=620']]);
  });

  it('say so at the gateway and at the operator port, too', async () => {
    const test = await start({ strangerIdleMs: 30_000 });
    const sandbox = await createSandbox(test);
    const daemon = { 'Svc-Sandbox-Id': sandbox.id, 'Svc-Sandbox-Port': '49983' };
    expect(
      await keptAfter(
        test.server.sandboxUrl,
        ['/', {}],
        ['/', { ...daemon, 'Svc-Sandbox-Id': 'nowhere' }],
        ['/files?path=/etc/hostname', { ...daemon, 'X-Access-Token': sandbox.token }],
      ),
    ).toEqual([
      [400, 'timeout=28'],
      [502, 'timeout=28'],
      [200, 'timeout=630'],
    ]);
    expect(
      await keptAfter(
        test.server.operatorUrl,
        ['/status', {}],
        ['/metrics', {}],
        ['/teams', {}],
        ['/', {}],
        ['/status', { Connection: 'close' }],
      ),
    ).toEqual([
      [200, 'timeout=28'],
      [200, 'timeout=28'],
      [401, 'timeout=28'],
      [302, 'timeout=28'],
      [200, undefined],
    ]);
  });

  it('whose next request came while the server was busy answer it, however late', async () => {
    const test = await start({ strangerIdleMs: 200 });
    const socket = connect({ host: '127.0.0.1', port: portOf(test.server.apiUrl) });
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    let answers = '';
    socket.on('data', (data: Buffer) => {
      answers += data.toString('latin1');
    });
    const ask = 'GET /v2/sandboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: wrong\r\n\r\n';
    const answered = () => answers.split('HTTP/1.1 401').length - 1;
    for (let asked = 1; asked <= 5; asked += 1) {
      socket.write(ask);
      // The request is in the socket's buffer, and the server of this process cannot read it before the connection's time is over.
      if (asked > 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
      await eventually(`answer ${asked}`, () => {
        expect(socket.closed).toBe(false);
        return answered() === asked;
      });
    }
  });

  it('unused ones are closed soon unless a valid key came over them', async () => {
    const test = await start({ strangerIdleMs: 200 });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const ask = async (headers: Record<string, string>) => {
      const sent = request(`${test.server.apiUrl}/v2/sandboxes`, { agent, headers });
      sent.end();
      const [response] = await once(sent, 'response');
      response.resume();
      await once(response, 'end');
      const { 'keep-alive': kept } = response.headers;
      return { status: response.statusCode, kept, reused: sent.reusedSocket, socket: sent.socket as Socket };
    };
    const stranger = await ask({});
    expect(stranger).toMatchObject({ status: 401, kept: 'timeout=1' });
    await eventually('the stranger was closed', () => stranger.socket.closed);
    const key = { 'X-API-Key': test.server.apiKey };
    const known = await ask(key);
    expect(known).toMatchObject({ status: 200, kept: 'timeout=620' });
    // Closed after the same time as the known one would be.
    const [later] = hold(portOf(test.server.apiUrl), 1, '127.0.0.1');
    later!.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
    await eventually('a later stranger was closed', () => later!.closed);
    expect(known.socket.closed).toBe(false);
    expect((await ask(key)).reused).toBe(true);
  });
});

describe('the share of connections', () => {
  it('follows from the files that a process may have open, and leaves room for others', () => {
    for (const files of [1_024, 4_096, 65_536, 1_048_576]) {
      const { api, gateway, operator } = connectionLimits(
        withDefaults(settings.tuning.connections, {}),
        files,
      );
      expect(api.total + 2 * gateway.total + operator.total).toBeLessThan(files * 0.8);
      for (const limits of [api, gateway, operator])
        expect(limits.perAddress).toBe(Math.ceil(limits.total / 2));
    }
    const given = withDefaults(settings.tuning.connections, { api: 7, perAddress: 3 });
    expect(connectionLimits(given, 1_024).api).toMatchObject({ total: 7, perAddress: 3 });
  });

  it.each([
    ['10.0.0.1', '10.0.0.1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    [undefined, ''],
  ])('%s counts as %s', (address, key) => {
    expect(addressKey(address)).toBe(key);
  });
});
