import type { IncomingMessage, OutgoingMessage } from 'node:http';

/**
 * Passes a body on. What comes in one turn of the event loop leaves in one write: TLS comes in records of 16 KiB, and a write
 * for each costs more than to encrypt it.
 */
export function passBody(from: IncomingMessage, to: OutgoingMessage): void {
  let corked = false;
  const uncork = () => {
    corked = false;
    // The end of a message uncorks it.
    if (!to.writableEnded) to.uncork();
  };
  from.on('data', () => {
    if (corked) return;
    corked = true;
    to.cork();
    setImmediate(uncork);
  });
  from.pipe(to);
}
