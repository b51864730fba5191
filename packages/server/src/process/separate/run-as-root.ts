import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { selectDriver } from '@svc/runtime/host';
import { DriverLog, serveDriver } from '@svc/runtime/remote';
import { driverPrograms, linuxOptions } from '../../config/driver-options.js';
import type { ServerOptions } from '../../config/options.js';
import { prepareDataLayout, runtimeSocket } from '../../storage/data/data-layout.js';
import type { ServiceUser } from '../../storage/data/service-user.js';
import { rightsOf } from '../../storage/data/service-user.js';
import { afterPredecessor } from './after-predecessor.js';
import { ORDERS_VARIABLE, type Orders, type RuntimeReady } from './orders.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The exit of the server. */
export interface ServerEnd {
  code: number;
  /** The signal that killed it, when it did not end by itself. */
  signal: NodeJS.Signals | undefined;
}

/**
 * Makes this process the one that has the rights of root, `svc-runtime`, and runs the server beside it: the same command
 * again, as `user`, with no capability and no way to get one, which reads its orders by `receiveOrders`. Signals and
 * messages are passed on. When one of the two ends, the other does.
 * @param extra data that the command passes to itself, as JSON
 * @throws {DataDirectoryError}, {DriverError} why there is no driver
 */
export async function runAsRoot(
  options: ServerOptions,
  user: ServiceUser,
  extra?: unknown,
): Promise<ServerEnd> {
  const layout = await prepareDataLayout(options.dataDir, user);
  process.title = 'svc-runtime';
  const { server, orders } = spawnServer(user);
  const ended = once(server, 'exit').then(
    ([code, signal]: (number | string | null)[]): ServerEnd => ({
      code: (code as number | null) ?? 1,
      signal: (signal as NodeJS.Signals | null) ?? undefined,
    }),
  );
  const send = (line: Orders | RuntimeReady) => orders.write(`${JSON.stringify(line)}\n`);
  const forward = (signal: NodeJS.Signals) => server.kill(signal);
  for (const signal of SIGNALS) process.on(signal, forward);
  try {
    // It stays with the process of root: an attacker in the server could forge memory with it.
    const { transferKey: _, ...forServer } = options;
    send({ options: forServer, user: user.name, extra });
    const log = new DriverLog();
    const opening = afterPredecessor(() =>
      selectDriver({
        dataDir: layout.runtime,
        ...driverPrograms(),
        preferred: 'linux',
        linux: linuxOptions(options),
        trialStart: options.trialStart === true,
        log: log.write,
      }),
    );
    // A server that finds another one in its place ends at once, while this still waits for the other.
    const opened = await Promise.race([opening, ended]);
    if ('code' in opened) return opened;
    const socketPath = runtimeSocket(options.dataDir);
    const token = randomBytes(32).toString('hex');
    const owner = { uid: user.uid, gid: user.gid };
    const served = await serveDriver(opened.driver, { socketPath, token, owner, log });
    send({ socketPath, token, why: opened.why });
    orders.end();
    const end = await ended;
    await served.close();
    return end;
  } finally {
    server.kill('SIGKILL');
    await ended;
    for (const signal of SIGNALS) process.off(signal, forward);
  }
}

function spawnServer(user: ServiceUser): { server: ChildProcess; orders: Writable } {
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const server = spawn('setpriv', [...rightsOf(user, 'KILL'), '--', ...again], {
    // A session of its own: Ctrl+C comes to it once, through this process.
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'pipe', ...(process.connected ? (['ipc'] as const) : [])],
    // Programs that the server starts look for their settings there.
    env: {
      ...process.env,
      SVC_TRANSFER_KEY: undefined,
      [ORDERS_VARIABLE]: '3',
      HOME: '/nonexistent',
      USER: user.name,
      LOGNAME: user.name,
    },
  });
  const orders = server.stdio[3] as Writable;
  // A failed write to an exited process adds nothing to its exit.
  orders.on('error', () => undefined);
  if (process.connected) passMessages(server);
  return { server, orders };
}

/** Passes messages between the server and the starter of this process. */
function passMessages(server: ChildProcess): void {
  let passed: Promise<unknown> = Promise.resolve();
  server.on('message', (message) => {
    passed = passed.then(() => new Promise((resolve) => process.send?.(message, resolve)));
  });
  server.once('disconnect', () => void passed.then(() => process.connected && process.disconnect()));
  process.on('message', (message) => server.connected && server.send(message as object));
  process.once('disconnect', () => server.connected && server.disconnect());
}
