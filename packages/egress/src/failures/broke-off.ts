import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/**
 * Returns true when the other side broke off a connection that has ended. The event loop reports an end too where a reset came
 * right behind the last bytes; the kernel then knows of no other side any more. Of no use once this side has ended.
 */
export function brokeOff(stream: unknown): boolean {
  if (!(stream instanceof Socket) || stream instanceof TLSSocket || stream.writableEnded) return false;
  const { _handle: handle } = stream as { _handle?: { getpeername?(found: object): number } | null };
  // Not `remoteAddress`: it remembers what it said before.
  return handle?.getpeername !== undefined && handle.getpeername({}) !== 0;
}
