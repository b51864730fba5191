import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { DriverError } from '@svc/runtime/contract';
import { type ConnectDriverOptions, connectDriver, type RemoteDriver } from '@svc/runtime/remote';
import type { Log } from '../../api/context/context.js';
import { runtimeTokenFile } from '../../storage/data/data-layout.js';
import type { RuntimeReady } from './orders.js';

/** Time for a runtime that starts beside the server, ms. */
const START_MS = 60_000;

/** The driver in the process of root. */
export interface Runtime {
  driver: RemoteDriver;
  /** The reason for this driver; a sentence for the operator. */
  why: string;
  /** Closes the driver. An unreachable one has nothing to close. */
  close(options: { destroyInstances: boolean }): Promise<void>;
}

/**
 * Uses a `svc-runtime` that was started by itself. One that starts at the same moment, or again after the server before this one,
 * is waited for.
 * @throws {DriverError} `unreachable` when there is none
 */
export async function joinRuntime(socketPath: string, log: Log): Promise<Runtime> {
  return runtimeOf(await connect(socketPath, log), 'A runtime of its own runs.');
}

/** Uses the `svc-runtime` that started this server. */
export async function useRuntime({ socketPath, token, why }: RuntimeReady, log: Log): Promise<Runtime> {
  return runtimeOf(await connectDriver({ socketPath, token, log: logTo(log) }), why);
}

function runtimeOf(driver: RemoteDriver, why: string): Runtime {
  return {
    driver,
    why,
    close: (options) =>
      driver.close(options).catch((error: unknown) => {
        if (!DriverError.is(error) || error.code !== 'unreachable') throw error;
      }),
  };
}

const logTo =
  (log: Log): NonNullable<ConnectDriverOptions['log']> =>
  (level, message, fields) =>
    log[level]({ ...fields }, message);

async function connect(socketPath: string, log: Log): Promise<RemoteDriver> {
  for (const since = performance.now(); ; ) {
    try {
      // A runtime that started again has another token.
      const token = (await readFile(runtimeTokenFile(socketPath), 'utf8')).trim();
      return await connectDriver({ socketPath, token, log: logTo(log) });
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
