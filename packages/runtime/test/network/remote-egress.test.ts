import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Driver, DriverError } from '../../src/contract.js';
import { createProcessDriver } from '../../src/process-driver/create-process-driver.js';
import { connectDriver, type RemoteDriver } from '../../src/remote/connect-driver.js';
import { type ServedDriver, serveDriver } from '../../src/remote/serve-driver.js';
import { dialUnix } from '../../src/shared/dial.js';
import { envdProgram } from '../support/envd-program.js';

const TOKEN = 'token-of-the-test';

describe('the egress process behind a served driver', () => {
  let directory: string;
  let socketPath: string;
  let controlPath: string;
  let control: Server;
  let driver: Driver;
  let served: ServedDriver;
  let remote: RemoteDriver;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'served-egress-'));
    socketPath = join(directory, 'driver.sock');
    controlPath = join(directory, 'control.sock');
    // It says something first and then says everything again, as no protocol does: bytes are only passed on.
    control = createServer((socket: Socket) => {
      socket.on('error', () => undefined);
      socket.write('hello ');
      socket.pipe(socket);
    }).listen(controlPath);
    await once(control, 'listening');
    driver = await createProcessDriver({ dataDir: join(directory, 'data'), daemon: envdProgram });
    const withEgress = new Proxy(driver, {
      get(target, name) {
        if (name === 'egress') return { connect: () => dialUnix(controlPath) } satisfies Driver['egress'];
        const value = Reflect.get(target, name, target) as unknown;
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    served = await serveDriver(withEgress, { socketPath, token: TOKEN });
    remote = await connectDriver({ socketPath, token: TOKEN });
  });

  afterEach(async () => {
    await remote.close().catch(() => undefined);
    await served.close();
    control.close();
    await rm(directory, { recursive: true, force: true });
  });

  it('is reached through the socket of the driver, byte by byte and by several at once', async () => {
    const one = await remote.egress!.connect();
    const two = await remote.egress!.connect();
    const big = Buffer.alloc(3 * 2 ** 20, 'x').toString();
    one.end(big);
    two.end('\0\r\n');
    expect(await text(one)).toBe(`hello ${big}`);
    expect(await text(two)).toBe('hello \0\r\n');
  });

  it('is unreachable while it is not there, and reached again when it is', async () => {
    control.close();
    const error = await remote.egress!.connect().catch((reason: unknown) => reason);
    expect(DriverError.is(error) && error.code).toBe('unreachable');
    control = createServer((socket) => socket.end('back')).listen(controlPath);
    await once(control, 'listening');
    expect(await text(await remote.egress!.connect())).toBe('back');
  });

  it('is not for who does not show the token', async () => {
    for (const authorization of ['', 'authorization: Bearer guessed\r\n']) {
      const socket = connect(socketPath);
      socket.write(
        `GET / HTTP/1.1\r\nhost: x\r\n${authorization}connection: upgrade\r\nupgrade: svc-egress\r\n\r\n`,
      );
      expect(await text(socket)).toMatch(/^HTTP\/1.1 401 /);
    }
  });

  it('keeps no connection when the driver is closed', async () => {
    const socket = await remote.egress!.connect();
    const closed = once(socket, 'close');
    socket.on('error', () => undefined).resume();
    await remote.close();
    await served.close();
    await closed;
    const error = await remote.egress!.connect().catch((reason: unknown) => reason);
    expect(DriverError.is(error) && error.code).toBe('closed');
  });
});

it('is not offered by a driver without one', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'served-egress-'));
  const socketPath = join(directory, 'driver.sock');
  const driver = await createProcessDriver({ dataDir: join(directory, 'data'), daemon: envdProgram });
  const served = await serveDriver(driver, { socketPath, token: TOKEN });
  const remote = await connectDriver({ socketPath, token: TOKEN });
  try {
    expect(remote.egress).toBeUndefined();
    expect(remote.capabilities.egressPolicy).toBe(false);
  } finally {
    await remote.close();
    await served.close();
    await rm(directory, { recursive: true, force: true });
  }
});
