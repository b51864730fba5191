import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { eventually } from '#support/eventually';
import { type Driver, DriverError, type InstanceSpec } from '../../src/contract.js';
import { createProcessDriver } from '../../src/process.js';
import { checkSpec, isCleanPath } from '../../src/remote/check.js';
import { connectDriver, type RemoteDriver } from '../../src/remote/connect-driver.js';
import { DriverLog } from '../../src/remote/driver-log.js';
import { FRAME, FrameReader, frameOf } from '../../src/remote/frames.js';
import { RemoteCalls } from '../../src/remote/remote-calls.js';
import { type ServedDriver, serveDriver } from '../../src/remote/serve-driver.js';
import { openUpgraded } from '../../src/remote/upgrade.js';
import { DaemonClient } from '../../src/testing/daemon-client.js';
import { tarOf } from '../../src/testing/tar.js';
import { envdProgram } from '../support/envd-program.js';
import { TOKEN } from '../support/serve-for-test.js';

/** The client for calls that no server makes. */
type Client = Parameters<Parameters<RemoteCalls['run']>[0]>[0];

const spec = { layers: [], limits: {}, network: { egress: 'internet' as const }, mounts: [], labels: {} };

describe('a driver that is served over a socket', () => {
  let directory: string;
  let socketPath: string;
  let driver: Driver;
  let served: ServedDriver;
  let remote: RemoteDriver;
  const lines: string[] = [];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'served-'));
    socketPath = join(directory, 'driver.sock');
    const log = new DriverLog();
    driver = await createProcessDriver({
      dataDir: join(directory, 'data'),
      daemon: envdProgram,
      log: log.write,
    });
    served = await serveDriver(driver, { socketPath, token: TOKEN, log });
    remote = await connectDriver({ socketPath, token: TOKEN, log: (_level, line) => lines.push(line) });
  });

  afterEach(async () => {
    await driver.close({ destroyInstances: true });
    await remote.close().catch(() => undefined);
    await served.close();
    await rm(directory, { recursive: true, force: true });
  });

  it('passes on how far the pool may grow', async () => {
    const set = vi.spyOn(driver, 'setPool');
    remote.setPool([{ spec, size: 0 }], { memoryMiB: 512 });
    remote.setPool([]);
    await remote.poolReady();
    expect(set.mock.calls.map(([, growth]) => growth)).toEqual([{ memoryMiB: 512 }, undefined]);
  });

  it('refuses who does not show the token', async () => {
    const stranger = await connectDriver({ socketPath, token: 'guessed' }).catch((error: unknown) => error);
    expect(DriverError.is(stranger) && stranger.code).toBe('unreachable');
  });

  it('lets no other user of the machine connect', async () => {
    expect(statSync(socketPath).mode & 0o777).toBe(0o600);
    if (process.getuid?.() !== 0) return;
    await chmod(directory, 0o755);
    const script = `require('net').connect(${JSON.stringify(socketPath)}).on('error', (e) => console.log(e.code)).on('connect', () => process.exit())`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], {
      uid: 65_534,
      gid: 65_534,
      cwd: '/',
    });
    expect(stdout.trim()).toBe('EACCES');
  });

  it('continues when somebody sends garbage', async () => {
    const garbage = [
      'GET / HTTP/1.1\r\n\r\n',
      '\0\0\0\0\u{1f}\u{8b}'.repeat(5_000),
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    ];
    for (const bytes of garbage) {
      const socket = connect(socketPath);
      socket.on('error', () => undefined).resume();
      const over = new Promise((resolve) => socket.once('close', resolve));
      socket.end(bytes);
      await over;
    }
    const name = Buffer.from('\x06Create');
    const framed = [
      Buffer.alloc(70_000, 255),
      Buffer.alloc(9),
      frameOf(1, FRAME.answer, name),
      frameOf(1, FRAME.failure, Buffer.alloc(0)),
    ];
    for (const bytes of framed) {
      const socket = await openUpgraded(
        { socketPath, token: TOKEN },
        'svc-calls',
        AbortSignal.timeout(5_000),
      );
      const over = new Promise((resolve) => socket.once('close', resolve));
      socket.on('error', () => undefined).resume();
      socket.write(bytes);
      await over;
    }
    const socket = await openUpgraded({ socketPath, token: TOKEN }, 'svc-calls', AbortSignal.timeout(5_000));
    const answers: number[] = [];
    const reader = new FrameReader();
    const answered = new Promise<void>((resolve) =>
      socket.on('data', (chunk: Buffer) => {
        for (const { kind } of reader.read(chunk)) if (answers.push(kind) === 4) resolve();
      }),
    );
    // Byte by byte, as a stream may come, and calls that there are not.
    for (const byte of frameOf(1, FRAME.call, name, Buffer.alloc(50, 255))) socket.write(Buffer.of(byte));
    for (const method of ['\x09ReadFile!', '\xff', ''])
      socket.write(frameOf(2, FRAME.call, Buffer.from(method)));
    await answered;
    expect(answers).toEqual(Array(4).fill(FRAME.failure));
    socket.destroy();
    for (const body of [Buffer.alloc(70_000, 255), Buffer.from('{}'), Buffer.alloc(0)])
      expect(await post(socketPath, '/driver.Driver/Create', body)).toBeGreaterThanOrEqual(400);
    expect(await remote.list()).toEqual([]);
  });

  it('refuses what no server has to ask for', async () => {
    const calls = RemoteCalls.overSocket({ socketPath, token: TOKEN });
    const wire = { layers: [], limits: {}, egress: 'internet', mounts: [], labels: {} };
    const failures: unknown[] = [];
    const refused = [
      (client: Client) => client.create({ id: '../../etc', spec: wire }),
      (client: Client) => client.create({ id: 'fine' }),
      (client: Client) => client.create({ id: 'fine', spec: { ...wire, layers: ['../../../root'] } }),
      (client: Client) => client.create({ id: 'fine', spec: { ...wire, egress: 'everything' } }),
      (client: Client) => client.create({ id: 'fine', spec: { ...wire, limits: { diskMib: Number.NaN } } }),
      (client: Client) =>
        client.create({ id: 'fine', spec: { ...wire, labels: { long: 'x'.repeat(5_000) } } }),
      (client: Client) => client.restore({ id: 'fine', spec: wire, checkpointId: '../x' }),
      (client: Client) => client.deleteCheckpoint({ checkpointId: '..' }),
      (client: Client) => client.deleteLayer({ id: '../i' }),
      (client: Client) => client.makeVolume({ id: '../v' }),
      (client: Client) => client.freeze({ handle: '__proto__' }),
      (client: Client) => client.setPool({ kinds: [{ spec: wire, size: 4_000_000_000 }] }),
      (client: Client) => client.importLayer((async function* () {})()),
      (client: Client) =>
        client.importLayer(
          (async function* () {
            yield { part: { case: 'data' as const, value: new Uint8Array(10) } };
          })(),
        ),
    ];
    for (const call of refused) {
      await calls.run(call as (client: Client) => Promise<unknown>).then(
        () => failures.push(call.toString()),
        () => undefined,
      );
    }
    calls.end();
    expect(failures).toEqual([]);
    expect(await remote.list()).toEqual([]);
    expect(await remote.layers.list()).toEqual([]);
  });

  it('says why an archive is refused without reading it to its end', async () => {
    let read = 0;
    const endless = Readable.from(
      (async function* () {
        for (; read < 1_000; read += 1) yield Buffer.alloc(2 ** 20, 'x');
      })(),
      { objectMode: false },
    );
    const error = await remote.layers.importTar(endless).catch((reason: unknown) => reason);
    expect(DriverError.is(error) && error.code).toBe('invalid_archive');
    expect(read).toBeLessThan(1_000);
  });

  it('reads an archive no faster than it is unpacked', async () => {
    const stop = new AbortController();
    let sent = 0;
    const slow: Driver['layers'] = {
      ...driver.layers,
      importTar: async (tar, { signal } = {}) => {
        tar.on('error', () => undefined);
        await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
        throw new Error('never');
      },
    };
    Object.defineProperty(driver, 'layers', { value: slow });
    const other = join(directory, 'slow.sock');
    const alsoServed = await serveDriver(driver, { socketPath: other, token: TOKEN });
    const slowRemote = await connectDriver({ socketPath: other, token: TOKEN });
    const source = Readable.from(
      (async function* () {
        for (; sent < 2_000; sent += 1) {
          if (sent === 500) stop.abort(new Error('enough'));
          yield Buffer.alloc(2 ** 20);
        }
      })(),
      { objectMode: false },
    );
    const importing = slowRemote.layers.importTar(source, { signal: stop.signal });
    const stuck = new Promise<string>((resolve) => {
      let last = -1;
      const timer = setInterval(() => {
        if (last === sent && sent > 0) {
          clearInterval(timer);
          resolve('stuck');
        }
        last = sent;
      }, 200);
    });
    expect(await Promise.race([stuck, importing.catch(() => 'read on')])).toBe('stuck');
    expect(sent).toBeLessThan(500);
    stop.abort(new Error('enough'));
    await expect(importing).rejects.toThrow('enough');
    await slowRemote.close();
    await alsoServed.close();
  });

  it('hands over layers, errors with their details, and the log', async () => {
    const layer = await remote.layers.importTar(tarOf({ 'greeting.txt': 'hello' }));
    const instance = await remote.create({ id: 'one', spec: { ...spec, layers: [layer.id] } });
    expect(await new DaemonClient(instance).output('cat greeting.txt')).toBe('hello');
    const error = await remote.create({ id: 'one', spec }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'invalid_spec', message: expect.stringContaining('exists already') });
    await eventually('the log', () => lines.join().includes('NO ISOLATION'));
  });

  it('reports the end of an instance without being asked', async () => {
    const instance = await remote.create({ id: 'one', spec });
    await (await driver.adopt('one'))?.destroy();
    expect(await instance.ended).toEqual({ reason: 'destroyed' });
    const ended = await instance.dial(49_983).catch((reason: unknown) => reason);
    expect(DriverError.is(ended) && ended.code).toBe('instance_gone');
  });

  it('keeps an old handle from touching a new instance of the same id', async () => {
    const old = await remote.create({ id: 'one', spec });
    await old.checkpoint({ checkpointId: 'stored', memory: false, then: 'destroy' });
    const fresh = await remote.restore({ id: 'one', spec, checkpointId: 'stored', memory: false });
    await old.destroy();
    expect(await new DaemonClient(fresh).health()).toBe(204);
  });

  it('is reported as lost when its process exits, and every call fails as unreachable', async () => {
    await served.close();
    expect(DriverError.is(await remote.lost)).toBe(true);
    const error = await remote.list().catch((reason: unknown) => reason);
    expect(DriverError.is(error) && error.code).toBe('unreachable');
  });

  it('notices that the server is lost', async () => {
    await remote.close();
    await served.abandoned;
    await served.closed;
  });
});

describe('what the root side lets through', () => {
  const mount = (fields: object) => ({ ...spec, mounts: [fields] as InstanceSpec['mounts'] });

  it.each([
    { source: '/etc', target: '/data' },
    { volumeId: '../../etc', target: '/data' },
    { volumeId: '', target: '/data' },
    { volumeId: 'a', target: '/' },
    { volumeId: 'a', target: '/data/../etc' },
    { volumeId: 'a', target: 'data' },
    { volumeId: 'a', target: '/data\n' },
  ])('has no mount like %j', (fields) => {
    expect(() => checkSpec(mount(fields))).toThrow(DriverError);
  });

  it('has mounts of volumes', () => {
    expect(checkSpec(mount({ volumeId: 'a', target: '/data' }))).toBeDefined();
  });

  it.each([
    { diskMiB: 1.5 },
    { diskMiB: -1 },
    { memoryMiB: Number.POSITIVE_INFINITY },
    { pids: 0 },
    { cpuCount: Number.NaN },
  ])('has no limits like %j', (limits) => {
    expect(() => checkSpec({ ...spec, limits })).toThrow(DriverError);
  });

  it.each(['', 'a', '//', '/a/', '/a//b', '/./a', '/a/..', '/a\0b'])('takes %j for no clean path', (path) => {
    expect(isCleanPath(path)).toBe(false);
  });
});

function post(socketPath: string, path: string, body: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/proto', authorization: `Bearer ${TOKEN}` };
    const sent = request({ socketPath, path, method: 'POST', headers }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject).end(body);
  });
}
