import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Driver } from '../../src/contract.js';
import { connectDriver, serveDriver } from '../../src/remote.js';

/** The token of tests. */
export const TOKEN = 'token of a test';

/** A driver as another process has it: served on a socket and connected to. Closing it closes the socket too. */
export async function overSocket(driver: Driver): Promise<Driver> {
  const directory = await mkdtemp(join(tmpdir(), 'socket-'));
  const socketPath = join(directory, 'driver.sock');
  const served = await serveDriver(driver, { socketPath, token: TOKEN });
  void served.closed
    .then(() => served.close())
    .finally(() => rm(directory, { recursive: true, force: true }));
  return connectDriver({ socketPath, token: TOKEN });
}
