import type { Socket } from 'node:net';

/** Ends a connection at once, so that the other side sees that it was not finished. What waits to be sent is dropped. */
export function reset(socket: Socket): void {
  if (socket.destroyed) return;
  // Node's `resetAndDestroy` sends what waits and an end before: a client that does not read puts that off for ever, and
  // one that does takes what it has for all.
  Object.assign(socket, { resetAndClosing: true });
  socket.destroy();
}
