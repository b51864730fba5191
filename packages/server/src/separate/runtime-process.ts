import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { connectDriver, DriverError, type DriverErrorCode, type RemoteDriver } from '@svc/runtime';
import type { Log } from '../context/context.js';
import type { RuntimeAnswer, RuntimeOrders } from './runtime-orders.js';
import { runtimeSocket } from './runtime-socket.js';
import type { ServiceUser } from './service-user.js';

/** The process with the rights of root, and the driver that it has. */
export interface RuntimeProcess {
  driver: RemoteDriver;
  why: string;
  /** Undefined for one that was started by itself. */
  pid: number | undefined;
  /** Closes the driver and waits until the process is gone. */
  close(options: { destroyInstances: boolean }): Promise<void>;
}

/** Longest that the process may take to end once it is told, ms. */
const END_MS = 15_000;

/** A process that waits to be told what to open. */
export interface WaitingRuntime {
  /**
   * Opens a driver in it.
   * @param dataDir whose socket it is; only root may write to it.
   * @throws {DriverError} what the driver threw when it was opened
   */
  open(
    dataDir: string,
    user: ServiceUser,
    driver: RuntimeOrders['driver'],
    log: Log,
  ): Promise<RuntimeProcess>;
  /** Ends it. Repeating it is fine. */
  end(): Promise<void>;
}

/** Starts `svc-runtime`, while this process has the rights of root still. */
export function spawnRuntime(): WaitingRuntime {
  const program = ['./svc-runtime.js', './svc-runtime.ts']
    .map((name) => fileURLToPath(new URL(name, import.meta.url)))
    .find((path) => existsSync(path));
  if (program === undefined) throw new Error('the program svc-runtime is missing beside the server');
  const child = spawn(process.execPath, [...process.execArgv, program], {
    // A session of its own: Ctrl+C is meant for the server, which ends this process when it is done.
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: environment(),
  });
  const ended = once(child, 'exit');
  // Writing to one that is gone tells nothing that its end does not.
  child.stdin.on('error', () => undefined);
  const end = async () => {
    child.stdin.end();
    const late = setTimeout(() => child.kill('SIGKILL'), END_MS);
    await ended;
    clearTimeout(late);
  };
  return {
    end,
    async open(dataDir, user, driver, log) {
      const socketPath = runtimeSocket(dataDir);
      const token = randomBytes(32).toString('hex');
      const orders: RuntimeOrders = { driver, socketPath, token, owner: { uid: user.uid, gid: user.gid } };
      child.stdin.write(`${JSON.stringify(orders)}\n`);
      const answer = await Promise.race([
        once(createInterface({ input: child.stdout }), 'line').then(
          ([line]) => JSON.parse(line as string) as RuntimeAnswer,
        ),
        ended.then(
          (): RuntimeAnswer => ({ ready: false, code: undefined, message: 'svc-runtime ended at once' }),
        ),
      ]);
      if (!answer.ready) {
        if (answer.code === undefined) throw new Error(answer.message);
        throw new DriverError(answer.code as DriverErrorCode, answer.message, { detail: answer.detail });
      }
      const remote = await connectDriver({
        socketPath,
        token,
        log: (level, message, fields) => log[level]({ ...fields }, message),
      });
      return {
        driver: remote,
        why: answer.why,
        pid: child.pid!,
        async close(options) {
          try {
            await remote.close(options);
          } catch (error) {
            // One that is gone has nothing to close.
            if (!DriverError.is(error) || error.code !== 'unreachable') throw error;
          } finally {
            await end();
          }
        },
      };
    },
  };
}

/** What the process needs of the environment, and nothing that is the server's secret. */
function environment(): NodeJS.ProcessEnv {
  const names = ['PATH', 'LANG', 'TZ', 'TMPDIR', 'SVC_CRIU_DIR', 'NODE_OPTIONS', 'NODE_COMPILE_CACHE'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}
