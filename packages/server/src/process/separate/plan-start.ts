import type { ServerOptions } from '../../config/options.js';
import {
  findHindrance,
  findServiceUser,
  type ServiceUser,
  ServiceUserError,
} from '../../storage/data/service-user.js';
import type { ReceivedOrders } from './orders.js';

/** A server whose driver is in a process of root: that one started it, or runs by itself, at `socket`. */
export type SeparatePlan =
  | { kind: 'started-by-root'; orders: ReceivedOrders }
  | { kind: 'beside-root'; socket: string };

/** As how many processes a server starts. */
export type StartPlan =
  | SeparatePlan
  /** Two, and this one is root's: `runAsRoot`. */
  | { kind: 'as-root'; user: ServiceUser }
  /** `warning` when two were due and cannot be: a sentence for the operator. */
  | { kind: 'alone'; warning?: string };

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
        'a server with a runtime of its own does not run as root: start it as the user that svc-runtime was started for (--user, default svc)',
      );
    return { kind: 'beside-root', socket };
  }
  const asRoot = process.platform === 'linux' && process.getuid?.() === 0;
  if (!asRoot || !(driver === undefined || driver === 'linux')) return { kind: 'alone' };
  const user = await findServiceUser(name);
  const hindrance = await findHindrance(user, dataDir);
  if (hindrance === undefined) return { kind: 'as-root', user };
  if (name !== undefined) throw new ServiceUserError(hindrance);
  return { kind: 'alone', warning: `The server runs as root, in one process: ${hindrance}.` };
}
