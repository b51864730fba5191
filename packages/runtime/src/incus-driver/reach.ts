import type { Socket } from 'node:net';
import { DriverError } from '../contract/errors.js';
import { dialTcp, dialUnix } from '../shared/dial.js';
import { DAEMON_PORT } from '../shared/dial-instance.js';
import { requestTunnel, tunnelThroughDaemon } from '../shared/tunnel.js';
import { gone } from './driver-error.js';

/** Connects to an address and port in the network of the cluster. */
export type DialAddress = (host: string, port: number, signal?: AbortSignal) => Promise<Socket>;

/** Dials directly, or through the gateway of a trial cluster, whose network no other program is in. */
export function dialerOf(gateway: string | undefined): DialAddress {
  return gateway === undefined ? dialTcp : (host, port, signal) => dialGateway(gateway, host, port, signal);
}

/** Connects to a port of an instance: from outside, then to its loopback through the daemon. */
export async function dialIncusInstance(
  dial: DialAddress,
  address: string,
  port: number,
  signal: AbortSignal | undefined,
): Promise<Socket> {
  const socket = await connect(dial, address, port, signal);
  // An instance may end while nobody listens to this connection any more.
  socket.on('error', () => undefined);
  return socket;
}

async function connect(dial: DialAddress, address: string, port: number, signal: AbortSignal | undefined) {
  if (port === DAEMON_PORT) return dial(address, port, signal);
  try {
    return await dial(address, port, signal);
  } catch (error) {
    if (!DriverError.is(error) || error.code !== 'port_closed') throw error;
    return tunnelThroughDaemon((each) => dial(address, DAEMON_PORT, each), port, signal);
  }
}

async function dialGateway(
  gateway: string,
  host: string,
  port: number,
  signal?: AbortSignal,
): Promise<Socket> {
  const socket = await dialUnix(gateway, signal).catch((cause: unknown) => {
    signal?.throwIfAborted();
    throw new DriverError('unreachable', 'The network of sandboxes cannot be reached.', {
      cause,
      detail: `the gateway at ${gateway} does not answer: is the trial cluster up?`,
    });
  });
  try {
    const { status, rest } = await requestTunnel(socket, `${host}:${port}`, signal);
    // The gateway reports its own attempt: 502, refused; 504, not there.
    if (status === 502)
      throw new DriverError('port_closed', `Nothing listens on port ${port} inside the sandbox.`);
    if (status !== 200) throw gone();
    if (rest.length > 0) socket.unshift(rest);
    return socket;
  } catch (error) {
    socket.on('error', () => undefined);
    socket.destroy();
    throw error;
  }
}
