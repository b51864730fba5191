import type { IncomingMessage } from 'node:http';

/**
 * Address that a request's connection came from. Undefined when nobody can tell any more: a connection that has ended, or a request
 * that came by none.
 */
export function clientAddressOf(request: IncomingMessage): string | undefined {
  // Its type says otherwise, but a request may have no socket.
  const socket = request.socket as IncomingMessage['socket'] | null;
  return socket?.remoteAddress;
}
