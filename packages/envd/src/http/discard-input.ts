import type { IncomingMessage } from 'node:http';

/**
 * Reads the rest of an answered request and throws it away, so that it does not stand in front of the connection's next
 * request. A reader that gave up in the middle still listens for `readable`, which would keep the rest from flowing.
 */
export function discardInput(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  request.removeAllListeners('readable');
  request.on('data', () => {});
  setImmediate(() => request.resume());
}
