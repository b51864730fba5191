import { userInfo } from 'node:os';
import { join } from 'node:path';
import { lockDirectory } from '#support/directory-lock';
import type { ServerOptions } from '../config/options.js';
import { driverPrograms } from '../start/driver-programs.js';
import { createLogger } from '../start/logger.js';
import { linuxOptions } from '../start/open-driver.js';
import type { Server } from '../start/server.js';
import { startServer } from '../start/start-server.js';
import { dataLayout, prepareDataLayout } from './data-layout.js';
import { joinRuntime } from './join-runtime.js';
import { type RuntimeProcess, spawnRuntime } from './runtime-process.js';
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
  /** The process that has the rights of root; undefined for one that was started by itself. */
  readonly runtimePid: number | undefined;
  /** Settles with the reason when that process ends before {@link Server.stop}. Never rejects. */
  readonly lost: Promise<Error>;
}

/** Two processes: root's is started with the server, which becomes `user`; or it is there already, at `socket`. */
export type SeparatePlan = { separated: true; user: ServiceUser } | { separated: true; socket: string };

/** As how many processes a server starts. */
export type StartPlan =
  | SeparatePlan
  /** `warning` when two were due and cannot be: a sentence for the operator. */
  | { separated: false; warning?: string };

/**
 * Decides whether a server with these options runs as two processes: as root, with a driver that needs root. Where `svc`
 * may not read the program or pass to the data directory, as below `/root`, one process does, with a warning.
 * @throws {ServiceUserError} when `options.user` names somebody who cannot be the server
 */
export async function planStart(
  options: Pick<ServerOptions, 'driver' | 'user' | 'dataDir' | 'runtimeSocket'>,
): Promise<StartPlan> {
  const { driver, user: name, dataDir, runtimeSocket: socket } = options;
  if (socket !== undefined) {
    if (process.getuid?.() === 0)
      throw new ServiceUserError(
        'a server with a runtime of its own does not run as root: start it as the user that svc-runtime was told (--user, default svc)',
      );
    return { separated: true, socket };
  }
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
 * user's, for good, before it opens anything, or has no rights of root from the beginning. For programs that are a server, see
 * {@link planStart}.
 * @throws {ServiceUserError}, {DataDirectoryError}, and what `startServer` throws
 */
export async function startSeparatedServer(
  options: ServerOptions,
  plan: SeparatePlan,
): Promise<SeparatedServer> {
  if ('socket' in plan) {
    const runtime = await joinRuntime(plan.socket, createLogger(options.logLevel));
    return startOn(runtime, options, userInfo().username).catch(async (error: unknown) => {
      await runtime.close({ destroyInstances: false }).catch(() => undefined);
      throw error;
    });
  }
  return startBoth(options, plan.user);
}

async function startBoth(options: ServerOptions, account: ServiceUser): Promise<SeparatedServer> {
  const layout = await prepareDataLayout(options.dataDir, account);
  const log = createLogger(options.logLevel);
  const driver = {
    dataDir: layout.runtime,
    ...driverPrograms(),
    preferred: 'linux' as const,
    linux: linuxOptions(options),
    trialStart: options.trialStart === true,
  };
  const waiting = spawnRuntime();
  try {
    becomeUser(account);
    // One that runs already is told at once. The runtime waits for the one before it, whose server may have been killed.
    await (await lockDirectory(layout.server, 'server.lock')).release();
    const runtime = await waiting.open(options.dataDir, account, driver, log);
    return await startOn(runtime, options, account.name);
  } catch (error) {
    await waiting.end();
    throw error;
  }
}

async function startOn(
  runtime: RuntimeProcess,
  options: ServerOptions,
  user: string,
): Promise<SeparatedServer> {
  const destroyByDefault = options.destroySandboxesOnStop ?? false;
  const server = await startServer({
    ...options,
    dataDir: dataLayout(options.dataDir).server,
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
    user,
    runtimePid: runtime.pid,
    lost: runtime.driver.lost,
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}
