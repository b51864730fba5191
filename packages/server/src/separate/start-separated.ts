import { join } from 'node:path';
import { daemonProgram } from '@svc/envd';
import { lockDirectory } from '#support/directory-lock';
import type { ServerOptions } from '../config/options.js';
import { createLogger } from '../start/logger.js';
import { linuxOptions } from '../start/open-driver.js';
import type { Server } from '../start/server.js';
import { startServer } from '../start/start-server.js';
import { prepareDataLayout } from './data-layout.js';
import { spawnRuntime } from './runtime-process.js';
import {
  becomeUser,
  findHindrance,
  findServiceUser,
  type ServiceUser,
  ServiceUserError,
} from './service-user.js';

export interface SeparatedServer extends Server {
  /** The user that the server runs as. */
  readonly user: string;
  /** The process that has the rights of root. */
  readonly runtimePid: number;
  /** Settles with the reason when that process ends before {@link Server.stop}. Never rejects. */
  readonly lost: Promise<Error>;
}

/** As how many processes a server starts. */
export type StartPlan =
  | { separated: true; user: ServiceUser }
  /** `warning` when two were due and cannot be: a sentence for the operator. */
  | { separated: false; warning?: string };

/**
 * Decides whether a server with these options runs as two processes: as root, with a driver that needs root. Where `svc`
 * may not read the program or pass to the data directory, as below `/root`, one process does, with a warning.
 * @throws {ServiceUserError} when `options.user` names somebody who cannot be the server
 */
export async function planStart(
  options: Pick<ServerOptions, 'driver' | 'user' | 'dataDir'>,
): Promise<StartPlan> {
  const { driver, user: name, dataDir } = options;
  const asRoot = process.platform === 'linux' && process.getuid?.() === 0;
  if (!asRoot || !(driver === undefined || driver === 'linux')) return { separated: false };
  const user = await findServiceUser(name);
  const hindrance = await findHindrance(user, dataDir);
  if (hindrance === undefined) return { separated: true, user };
  if (name !== undefined) throw new ServiceUserError(hindrance);
  return { separated: false, warning: `The server runs as root, in one process: ${hindrance}.` };
}

/**
 * Starts the service as two processes: `svc-runtime` has the rights of root and the driver, and this process becomes the
 * user's, for good, before it opens anything. For programs that are a server; needs root, see {@link planStart}.
 * @throws {ServiceUserError}, {DataDirectoryError}, and what `startServer` throws
 */
export async function startSeparatedServer(
  options: ServerOptions,
  account: ServiceUser,
): Promise<SeparatedServer> {
  const layout = await prepareDataLayout(options.dataDir, account);
  const log = createLogger(options.logLevel ?? 'info');
  const driver = {
    dataDir: layout.runtime,
    daemon: daemonProgram,
    preferred: 'linux' as const,
    linux: linuxOptions(options),
  };
  const waiting = spawnRuntime();
  const destroyByDefault = options.destroySandboxesOnStop ?? false;
  try {
    becomeUser(account);
    // One that runs already is told at once. The runtime waits for the one before it, whose server may have been killed.
    await (await lockDirectory(layout.server, 'server.lock')).release();
    const runtime = await waiting.open(options.dataDir, account, driver, log);
    const server = await startServer({
      ...options,
      dataDir: layout.server,
      driver: runtime.driver,
      tuning: {
        ...options.tuning,
        // Where the operator puts them, not where the server keeps its own.
        builds: { imageDirectories: [join(options.dataDir, 'images')], ...options.tuning?.builds },
      },
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
      user: account.name,
      runtimePid: runtime.pid,
      lost: runtime.driver.lost,
      stop,
      [Symbol.asyncDispose]: () => stop(),
    };
  } catch (error) {
    await waiting.end();
    throw error;
  }
}
