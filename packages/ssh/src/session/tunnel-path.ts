import type { ForwardTarget } from '../connection/requests.js';

/** The daemon's route to something that listens, as seen from inside the sandbox. Pure. */
export function tunnelPath(to: ForwardTarget): string {
  const query = 'socketPath' in to ? { socket: to.socketPath } : { host: to.host, port: String(to.port) };
  return `/tunnel?${new URLSearchParams(query)}`;
}
