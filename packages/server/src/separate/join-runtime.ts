import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectDriver, DriverError, type RemoteDriver } from '@svc/runtime';
import type { Log } from '../context/context.js';
import type { RuntimeProcess } from './runtime-process.js';
import { runtimeTokenFile } from './runtime-socket.js';

/** How long a runtime that starts beside the server may take, ms. */
const START_MS = 60_000;

/**
 * Uses a `svc-runtime` that was started by itself. One that starts at the same moment, or again after the server before this one,
 * is waited for.
 * @throws {DriverError} `unreachable` when there is none
 */
export async function joinRuntime(socketPath: string, log: Log): Promise<RuntimeProcess> {
  const driver = await connect(socketPath, log);
  return {
    driver,
    why: 'A runtime of its own runs.',
    pid: undefined,
    close: (options) => driver.close(options),
  };
}

async function connect(socketPath: string, log: Log): Promise<RemoteDriver> {
  for (const since = performance.now(); ; ) {
    try {
      // A runtime that started again has another token.
      const token = (await readFile(runtimeTokenFile(socketPath), 'utf8')).trim();
      return await connectDriver({
        socketPath,
        token,
        log: (level, message, fields) => log[level]({ ...fields }, message),
      });
    } catch (error) {
      if (performance.now() - since > START_MS)
        throw new DriverError(
          'unreachable',
          `There is no svc-runtime at ${socketPath}: start it (systemctl start svc-runtime), or let root start the server without SVC_RUNTIME_SOCKET.`,
          { cause: error },
        );
      await sleep(200);
    }
  }
}
