import { userInfo } from 'node:os';
import { join } from 'node:path';
import { DriverError, type Isolation } from '@svc/runtime/contract';
import { lockDirectory } from '#support/directory-lock';
import type { ServerOptions } from '../../config/options.js';
import { dataLayout } from '../../storage/data/data-layout.js';
import { createLogger } from '../logger.js';
import type { Server } from '../server.js';
import { startServer } from '../start-server.js';
import { joinRuntime, type Runtime, useRuntime } from './join-runtime.js';
import type { SeparatePlan } from './plan-start.js';

export interface SeparatedServer extends Server {
  /** The user that the server runs as. */
  readonly user: string;
  /** Settles with the reason when the process of root ends before {@link Server.stop}. Never rejects. */
  readonly lost: Promise<Error>;
}

/**
 * Starts a server whose driver is in a process of root. It has no rights of root itself. For programs that are a server, see
 * `planStart`.
 * @throws {DirectoryLockedError} while another server has the data directory, and what `startServer` throws
 */
export async function startSeparatedServer(
  options: ServerOptions,
  plan: SeparatePlan,
): Promise<SeparatedServer> {
  const log = createLogger(options.logLevel);
  if (plan.kind === 'beside-root') {
    const runtime = await joinRuntime(plan.socket, log);
    try {
      requireIsolation(options.isolation, runtime, plan.socket);
    } catch (error) {
      await letGo(runtime);
      throw error;
    }
    return startOn(runtime, options, userInfo().username);
  }
  // One that runs already is reported at once. Root's process waits for the one before it, whose server may have been killed.
  await (await lockDirectory(dataLayout(options.dataDir).server, 'server.lock')).release();
  return startOn(await useRuntime(await plan.orders.runtime(), log), options, plan.orders.user);
}

async function startOn(runtime: Runtime, options: ServerOptions, user: string): Promise<SeparatedServer> {
  const destroyByDefault = options.destroySandboxesOnStop ?? false;
  const server = await startServer({
    ...options,
    dataDir: dataLayout(options.dataDir).server,
    driver: runtime.driver,
    tuning: {
      ...options.tuning,
      // The operator's directory, not the server's own.
      builds: { imageDirectories: [join(options.dataDir, 'images')], ...options.tuning?.builds },
    },
  }).catch(async (error: unknown) => {
    await letGo(runtime);
    throw error;
  });
  let stopped: Promise<void> | undefined;
  const stop: Server['stop'] = (how = {}) => {
    stopped ??= (async () => {
      await server.stop(how);
      await runtime.close({ destroyInstances: how.destroySandboxes ?? destroyByDefault });
    })();
    return stopped;
  };
  return {
    ...server,
    driverReason: runtime.why,
    user,
    lost: runtime.driver.lost,
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}

/** A server that does not start leaves nothing open. */
const letGo = (runtime: Runtime): Promise<void> =>
  runtime.driver.close({ destroyInstances: false }).catch(() => undefined);

/**
 * A `svc-runtime` that was started by itself decides on isolation, with options of its own. A server that was told
 * something else must not run: its sandboxes would not be what its operator takes them for.
 * @param isolation of the server's options; undefined: that of the other process
 * @throws {DriverError} `unsupported`
 */
export function requireIsolation(
  isolation: Isolation | undefined,
  { driver }: Pick<Runtime, 'driver'>,
  socketPath: string,
): void {
  const { isolation: theirs } = driver.capabilities;
  if (isolation === undefined || isolation === theirs) return;
  throw new DriverError(
    'unsupported',
    `The server is to keep sandboxes apart by "${isolation}", and the svc-runtime at ${socketPath} does by "${theirs}": give both the same isolation (SVC_ISOLATION in the units or isolation in the configuration file that both read), restart svc-runtime, and start the server again.`,
  );
}
