import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { IncusClient } from '../../src/incus/incus-client.js';
import { IncusError } from '../../src/incus/incus-error.js';
import { type LifecycleEvent, watchEvents } from '../../src/incus/watch-events.js';
import { FrameReader } from '../../src/incus/web-socket-frames.js';
import { Addresses } from '../../src/incus-driver/addresses.js';
import { createIncusDriver } from '../../src/incus-driver/create-incus-driver.js';
import { IncusCluster } from '../../src/incus-driver/incus-cluster.js';
import { readRecord } from '../../src/incus-driver/incus-instance.js';
import { keys } from '../../src/incus-driver/keys.js';
import { countOf, readImages } from '../../src/incus-driver/read-wire.js';
import { OPERATION } from '../support/fake-incus.js';

/** A member that answers with the bytes of a test, byte by byte. */
describe('a member of Incus that lies', () => {
  let directory: string;
  let server: Server;
  let address: string;
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  let upgrade: (socket: Socket) => void;
  let requests: number;
  let client: IncusClient;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'lying-incus-'));
    address = join(directory, 'unix.socket');
    requests = 0;
    upgrade = (socket) => socket.destroy();
    server = createServer((request, response) => {
      requests += 1;
      request.resume();
      answer(request, response);
    });
    server.on('upgrade', (_request, socket: Socket) => {
      socket.on('error', () => undefined);
      upgrade(socket);
    });
    server.listen(address);
    await once(server, 'listening');
    client = new IncusClient({ address, project: 'svc' });
  });
  afterEach(async () => {
    client.close();
    server.closeAllConnections();
    server.close();
    await rm(directory, { recursive: true, force: true });
  });

  const says = (text: string, status = 200) => {
    answer = (_request, response) => response.writeHead(status).end(text);
  };
  const answers = (metadata: unknown) => says(JSON.stringify({ type: 'sync', status_code: 200, metadata }));
  const failure = (calling: Promise<unknown>) =>
    calling.then(
      () => undefined,
      (error: unknown) => error,
    );

  it.each([
    ['nothing', ''],
    ['half of an answer', '{"type":"sync","metadata":[{"name":'],
    ['a page', '<html>hello</html>'],
    ['a number', '1e999'],
    ['no type', '{"metadata":{}}'],
    ['an operation that is a path', '{"type":"async","operation":"/1.0/operations/../instances/x"}'],
    ['an operation that is a list', `{"type":"async","operation":${'['.repeat(5_000)}${']'.repeat(5_000)}}`],
  ])('and gives %s: the call says that it is no Incus', async (_, text) => {
    says(text);
    expect(await failure(client.call({ path: '/x' }))).toBeInstanceOf(IncusError);
  });

  it('and never ends its answer: reading ends', async () => {
    const closed = new Promise<void>((resolve) => {
      answer = (_request, response) => {
        response.once('close', resolve);
        response.writeHead(200);
        const piece = Buffer.alloc(2 ** 20, ' ');
        const more = () => {
          while (!response.destroyed && response.write(piece));
          response.once('drain', more);
        };
        more();
      };
    });
    expect(await failure(client.call({ path: '/x' }))).toMatchObject({
      status: 0,
      message: 'The answer of Incus is too large.',
    });
    await closed;
  });

  it('and breaks its answer off, or never gives one: the call fails', async () => {
    answer = (_request, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('{"type":');
      setImmediate(() => response.destroy());
    };
    expect(await failure(client.call({ path: '/x' }))).toMatchObject({ status: 0 });
    answer = () => undefined;
    expect(await failure(client.call({ path: '/x', timeoutMs: 50 }))).toMatchObject({ status: 0 });
    upgrade = () => undefined;
    expect(await failure(client.upgrade(upgradeOf(50)))).toMatchObject({ status: 0 });
  });

  it('and says at once, again and again, that an operation continues: it is asked with pauses', async () => {
    answer = (request, response) => {
      const metadata = { status_code: 103 };
      const started = { type: 'async', operation: `${OPERATION}?project=svc`, metadata };
      response.end(JSON.stringify(request.method === 'POST' ? started : { type: 'sync', metadata }));
    };
    const call = client.call({ method: 'POST', path: '/x', body: {}, operationMs: 1_000 });
    expect(await failure(call)).toMatchObject({ status: 0 });
    expect(requests).toBeLessThan(10);
  });

  it('and fails with a book: the first page is kept', async () => {
    says(JSON.stringify({ type: 'error', error_code: 500, error: 'x'.repeat(100_000) }), 500);
    expect(((await failure(client.call({ path: '/x' }))) as Error).message).toHaveLength(2_000);
    says(JSON.stringify({ type: 'error', error_code: 'x', error: { toString: 1 } }), 500);
    expect(await failure(client.call({ path: '/x' }))).toMatchObject({ status: 500 });
  });

  const garbage: unknown[] = [
    ...[undefined, null, 7, 'x', true, [], {}, [null], [7], ['x'], [[]], [{}]],
    ...[['/1.0/instances/../images/x'], [{ name: '../images/x' }], { name: '../x' }],
    [{ name: 'ok', config: 7, devices: [[]] }],
    { cpu: { usage: 'x' }, memory: -1, disk: { root: 7 }, processes: 1e308 },
    { cpu: null, memory: { total: 'Infinity' }, space: null },
    [{ server_name: 7, url: {}, roles: 'x' }],
    [{ fingerprint: '../../instances/x', size: 1 }],
  ];

  it.each(garbage.map((metadata) => ({ metadata })))(
    'and answers %j instead of the requested data: it is reported, or ignored',
    async ({ metadata }) => {
      answers(metadata);
      const cluster = new IncusCluster(client);
      const calls: (() => Promise<unknown>)[] = [
        () => cluster.listAll(),
        () => cluster.find('ok'),
        () => cluster.state('ok'),
        () => cluster.members(),
        () => cluster.poolBytes('pool', 'm1'),
        () => cluster.resources('m1'),
        () => cluster.remove('ok'),
        () => client.call({ path: '/images' }).then(readImages),
      ];
      for (const call of calls) {
        const error = await failure(call());
        if (error !== undefined) expect(error).toBeInstanceOf(IncusError);
      }
    },
  );

  it('and answers with another instance than it was asked for: nothing is believed', async () => {
    answers({ name: 'other', status: 'Stopped', location: 'm1', config: {}, devices: {} });
    expect(await failure(new IncusCluster(client).find('mine'))).toBeInstanceOf(IncusError);
  });

  const upgradeOf = (timeoutMs: number) => ({
    path: '/events',
    headers: { connection: 'Upgrade', upgrade: 'websocket' },
    timeoutMs,
  });

  it('and sends garbage for events: it is asked again, and nothing comes of it', async () => {
    const sent = [
      Buffer.alloc(100_000, 0xff),
      Buffer.from([0x81, 0xff, 0, 0, 0, 0]),
      Buffer.concat([Buffer.from([0x81, 3]), Buffer.from('{"a')]),
      Buffer.concat(Array.from({ length: 5_000 }, () => Buffer.from([0x01, 1, 120]))),
    ];
    let opened = 0;
    upgrade = (socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
      socket.end(sent[opened % sent.length]!);
      opened += 1;
    };
    const events: LifecycleEvent[] = [];
    const abort = new AbortController();
    const watching = watchEvents({
      client,
      onEvent: (event) => events.push(event),
      onGap: () => undefined,
      signal: abort.signal,
    });
    await eventually('it is asked again', () => opened > 1);
    abort.abort();
    await watching;
    expect(events).toEqual([]);
  });

  it('and sends messages without an end, or a control frame with one far away: reading ends', () => {
    const reader = new FrameReader();
    const fragment = Buffer.concat([
      Buffer.from([0x01, 127, 0, 0, 0, 0, 0, 16, 0, 0]),
      Buffer.alloc(2 ** 20),
    ]);
    expect(() => {
      for (let count = 0; count < 10; count += 1) reader.push(fragment);
    }).toThrow('too large');
    const small = new FrameReader();
    expect(() => {
      for (let count = 0; count < 10_000; count += 1) small.push(Buffer.from([0x01, 0]));
    }).toThrow('too large');
    expect(() => new FrameReader().push(Buffer.from([0x89, 126, 1, 0]))).toThrow('control frame');
  });

  it('and sends a message in pieces of a byte: it is put together once', () => {
    const payload = Buffer.alloc(60_000, 'x');
    const bytes = Buffer.concat([Buffer.from([0x81, 126, 0xea, 0x60]), payload]);
    const reader = new FrameReader();
    const frames = [...bytes].flatMap((byte) => reader.push(Buffer.from([byte])));
    expect(frames).toEqual([{ kind: 'text', text: payload.toString() }]);
  });

  it.each([
    [-1, 0],
    ['Infinity', 0],
    [1e300, Number.MAX_SAFE_INTEGER],
    ['12', 12],
    [{}, 0],
    [Number.NaN, 0],
  ])('and counts %j: it is %d', (value, count) => {
    expect(countOf(value)).toBe(count);
  });

  it.each([
    { [keys.labels]: '[]' },
    { [keys.labels]: '{"a":7}' },
    { [keys.labels]: 'x' },
    { [keys.layers]: '["../x"]' },
    { [keys.layers]: '{"length":1e9}' },
    { [keys.id]: '../../x' },
  ])('and changes what the driver wrote to %j: it is no sandbox', (config) => {
    const instance = {
      name: 's10-77-16-1',
      status: 'Running',
      location: 'm1',
      config: { [keys.id]: 'box', [keys.state]: 'live', ...config },
      devices: { eth0: { 'ipv4.address': '10.77.16.1' } },
    };
    expect(readRecord(instance)).toBeUndefined();
    expect(readRecord({ ...instance, config: { [keys.id]: 'box', [keys.state]: 'live' } })).toBeDefined();
  });

  it.each([
    '127.0.0.1',
    '169.254.169.254',
    '10.77.32.1',
    'localhost',
    '10.77.016.1',
    '10.77.16.1 ',
    '::ffff:10.77.16.1',
    '0x0a4d1001',
  ])('and says that a sandbox is at %s: that is no address of the range', (other) => {
    const addresses = new Addresses('10.77.16.0/20', 0);
    expect(addresses.has('10.77.16.1')).toBe(true);
    expect(addresses.has(other)).toBe(false);
  });

  it('and gives a sandbox an address of the server: the driver does not hold it, and connects to nothing', async () => {
    const dataDir = join(directory, 'data');
    await mkdir(dataDir);
    await writeFile(join(dataDir, 'incus-owner'), 'me\n');
    const instance = (id: string, at: string) => ({
      name: `s${id}`,
      status: 'Running',
      location: 'm1',
      config: { [keys.id]: id, [keys.state]: 'live', [keys.owner]: 'me' },
      devices: { eth0: { 'ipv4.address': at } },
    });
    const all = [instance('whole', '10.77.16.1'), instance('moved', '127.0.0.1')];
    answer = (request, response) => {
      const { pathname, searchParams } = new URL(request.url!, 'http://incus');
      const metadata =
        pathname === '/1.0'
          ? {
              auth: 'trusted',
              api_extensions: ['instance_create_start'],
              environment: { kernel_architecture: 'x86_64', server_version: '6' },
            }
          : pathname === '/1.0/instances'
            ? searchParams.has('recursion')
              ? all
              : all.map(({ name }) => `/1.0/instances/${name}`)
            : pathname === '/1.0/cluster/members'
              ? []
              : (all.find(({ name }) => pathname === `/1.0/instances/${name}`) ?? {
                  driver: 'dir',
                  config: {},
                });
      response.end(JSON.stringify({ type: 'sync', metadata }));
    };
    const entry = join(directory, 'envd');
    await writeFile(entry, '');
    const driver = await createIncusDriver({
      dataDir,
      daemon: { entry },
      address,
      pool: 'x',
      parent: 'eth0',
      range: '10.77.16.0/20',
    });
    try {
      expect((await driver.list()).map(({ id }) => id)).toEqual(['whole']);
      expect(await driver.adopt('moved')).toBeUndefined();
    } finally {
      await driver.close();
    }
  });
});
