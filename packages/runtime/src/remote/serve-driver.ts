import { timingSafeEqual } from 'node:crypto';
import { chownSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { Code, ConnectError, type HandlerContext, type Interceptor } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { anyOf } from '#support/any-of';
import type { Driver } from '../contract/driver.js';
import { Driver as DriverService } from '../gen/driver/driver_pb.js';
import { DriverCalls } from './driver-calls.js';
import { DriverLog } from './driver-log.js';
import { carryEgress, EGRESS_PROTOCOL } from './egress.js';
import { encodeFailures } from './encode-failures.js';
import { MAX_FRAME_BYTES } from './frames.js';
import { CALLS_PROTOCOL, frameCalls, serveFrames } from './serve-frames.js';
import { serveUpgrades } from './upgrade.js';

const CLOSE_GRACE_MS = 1_000;

export interface ServeDriverOptions {
  /** Path of the Unix socket, below a directory that nobody else may change. What is there is replaced. */
  socketPath: string;
  /** Credential of every call. It gives full control of the driver. */
  token: string;
  /** The user that may connect, beside root. Default: the user of this process alone. */
  owner?: { uid: number; gid: number };
  /** Where the driver's log goes, for the other side to read. */
  log?: DriverLog;
}

/** A driver that another process uses. */
export interface ServedDriver {
  /** Settles when the driver was closed by the other side or by {@link close}. */
  readonly closed: Promise<void>;
  /** Settles when the server that watched is lost: its connection broke or it closed the driver. */
  readonly abandoned: Promise<void>;
  /** Closes the driver, without ending instances, and the socket. Repeating it is fine. */
  close(): Promise<void>;
}

/** Lets another process use a driver over a Unix socket, see `connectDriver`. */
export async function serveDriver(driver: Driver, options: ServeDriverOptions): Promise<ServedDriver> {
  const { socketPath, token, owner } = options;
  const { events } = options.log ?? new DriverLog();
  let finish!: () => void;
  const closed = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let abandon!: () => void;
  const abandoned = new Promise<void>((resolve) => {
    abandon = resolve;
  });
  const calls = new DriverCalls(driver, {
    notify: (event) => events.push(event),
    closed: finish,
  });
  const stopping = new AbortController();
  const watch = async function* (_: unknown, { signal }: HandlerContext) {
    try {
      yield { event: { case: 'ready' as const, value: {} } };
      for await (const event of events.read(anyOf([signal, stopping.signal]))) yield { event };
    } finally {
      abandon();
    }
  };
  const { importLayer, importObject, exportObject, readFile, writeFile, ...answered } = calls.handlers();
  const streams = { importLayer, importObject, exportObject, readFile, writeFile, watch };
  const handle = connectNodeAdapter({
    routes: (router) => router.service(DriverService, streams),
    interceptors: [requireToken(token), encodeFailures],
    readMaxBytes: MAX_FRAME_BYTES,
    acceptCompression: [],
    grpc: false,
    grpcWeb: false,
  });
  // A call may last as long as the upload of an image, and connections wait for the next one.
  const server = createServer({ requestTimeout: 0, keepAliveTimeout: 0 }, handle);
  const answers = frameCalls(answered);
  const carried = serveUpgrades(server, (authorization) => showsToken(authorization, token), {
    [CALLS_PROTOCOL]: async () => (socket) => serveFrames(socket, answers),
    ...(driver.egress === undefined ? {} : { [EGRESS_PROTOCOL]: carryEgress(driver.egress) }),
  });
  await rm(socketPath, { force: true });
  await listenPrivately(server, socketPath, owner);
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= (async () => {
      await driver.close();
      finish();
      stopping.abort();
      for (const socket of carried) socket.destroy();
      await closeGently(server);
      await rm(socketPath, { force: true });
    })();
    return closing;
  };
  return { closed, abandoned, close };
}

/** Nobody else can connect at any moment: the mode comes with the socket, and the owner after it. */
async function listenPrivately(
  server: Server,
  path: string,
  owner: ServeDriverOptions['owner'],
): Promise<void> {
  const before = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(before);
  }
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', reject);
  });
  if (owner !== undefined) chownSync(path, owner.uid, owner.gid);
}

/** Waits for answers that are being sent, then closes all other connections. */
async function closeGently(server: Server): Promise<void> {
  const cut = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  const idle = setInterval(() => server.closeIdleConnections(), 10);
  await new Promise<void>((resolve) => server.close(() => resolve()));
  clearTimeout(cut);
  clearInterval(idle);
}

function requireToken(token: string): Interceptor {
  return (next) => async (request) => {
    if (!showsToken(request.header.get('authorization'), token))
      throw new ConnectError('This process may not use the sandbox runtime.', Code.Unauthenticated);
    return next(request);
  };
}

function showsToken(authorization: string | null | undefined, token: string): boolean {
  const shown = Buffer.from(authorization ?? '');
  const wanted = Buffer.from(`Bearer ${token}`);
  return shown.length === wanted.length && timingSafeEqual(shown, wanted);
}
