import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type ClientOptions } from '@svc/sdk';
import { startServer } from '@svc/server';
import { afterAll, beforeAll, describe } from 'vitest';
import { isGate } from './tier.js';

/** Drivers that end-to-end tests run on: `SVC_TEST_DRIVERS`, a comma list. Default: both. */
const wanted = (process.env.SVC_TEST_DRIVERS ?? 'process,linux').split(',').map((name) => name.trim());

export type DriverName = 'process' | 'linux';

/** Why tests cannot run on a driver here; undefined when they can. */
export function whyNot(driver: DriverName): string | undefined {
  if (!wanted.includes(driver)) return `SVC_TEST_DRIVERS does not name ${driver}`;
  if (driver === 'linux' && process.getuid?.() !== 0) return 'the linux driver needs root';
  return undefined;
}

type RunningServer = Awaited<ReturnType<typeof startServer>>;

/** The server of a suite: one for the whole file and driver. */
export interface Fixture {
  readonly driver: DriverName;
  readonly server: RunningServer;
  /** A client of the server; with options of its own where the test is about them. */
  client(options?: ClientOptions): Client;
}

/**
 * Runs a suite on every driver that this machine has, or those given, each on a server of its own. The gate takes one, isolated
 * sandboxes where they can run: the SDK cannot see the driver.
 */
export function describeOnServer(
  name: string,
  suite: (fixture: Fixture) => void,
  drivers: readonly DriverName[] = ['process', 'linux'],
): void {
  const one = drivers.findLast((driver) => whyNot(driver) === undefined);
  for (const driver of isGate && one !== undefined ? [one] : drivers) {
    const reason = whyNot(driver);
    if (reason !== undefined) console.warn(`${name}: skipped on ${driver}: ${reason}`);
    describe.skipIf(reason !== undefined)(`${name} (${driver})`, () => {
      let server: RunningServer | undefined;
      let directory = '';
      beforeAll(async () => {
        directory = await mkdtemp(join(tmpdir(), 'svc-sdk-'));
        server = await startServer({
          dataDir: directory,
          driver,
          apiPort: 0,
          sandboxPort: 0,
          operatorPort: false,
          logLevel: 'error',
          poolSize: 0,
          destroySandboxesOnStop: true,
          drainMs: 1_000,
          tuning: { webhooks: { allowPrivateAddresses: true } },
          rateLimits: { general: { rate: 0, burst: 1 }, create: { rate: 0, burst: 1 } },
        });
      });
      afterAll(async () => {
        await server?.stop({ destroySandboxes: true });
        await rm(directory, { recursive: true, force: true });
      });
      suite({
        driver,
        get server() {
          if (!server) throw new Error('The server has not started');
          return server;
        },
        client(options = {}) {
          const { apiUrl, sandboxUrl, apiKey } = this.server;
          return new Client({ apiUrl, sandboxUrl, apiKey, logLevel: 'off', ...options });
        },
      });
    });
  }
}
