import type { Socket } from 'node:net';

/** Ends a connection so that the other side sees that it was not finished. */
export function reset(socket: Socket): void {
  if (!socket.destroyed) socket.resetAndDestroy();
}
