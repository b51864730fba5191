import type { Socket } from 'node:net';
import { DriverError } from '../contract/errors.js';
import type { InstanceReach } from '../contract/instance.js';
import { dialTcp } from './dial.js';
import { tunnelThroughDaemon } from './tunnel.js';

/** The port of the contract under which the daemon is reached, wherever it really listens. */
export const DAEMON_PORT = 49_983;

/**
 * Connects to a port of an instance. Errors of the connection later on concern its user: no listener is needed.
 * @throws {DriverError} `port_closed`, `instance_gone`
 */
export async function dialInstance(
  reach: InstanceReach,
  port: number,
  signal?: AbortSignal,
): Promise<Socket> {
  const socket = await connectTo(reach, port, signal);
  // An instance may end while nobody listens to this connection any more.
  socket.on('error', () => undefined);
  return socket;
}

async function connectTo(
  { daemon, hosts, tunnel }: InstanceReach,
  port: number,
  signal: AbortSignal | undefined,
): Promise<Socket> {
  const dialDaemon = (each?: AbortSignal) => dialTcp(daemon.host, daemon.port, each);
  if (port === DAEMON_PORT) return dialDaemon(signal);
  let refusal: DriverError | undefined;
  for (const host of hosts) {
    try {
      return await dialTcp(host, port, signal);
    } catch (error) {
      if (!DriverError.is(error)) throw error;
      // The addresses after the first may be missing on this host.
      if (refusal === undefined && error.code !== 'port_closed') throw error;
      refusal ??= error;
    }
  }
  if (tunnel) return tunnelThroughDaemon(dialDaemon, port, signal);
  throw refusal ?? new DriverError('unsupported', 'The ports of the sandbox cannot be reached from here.');
}
