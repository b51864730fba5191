import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/**
 * Whether a connection that has ended was broken off by the other side. The event loop tells of an end too where a reset came
 * right behind the last bytes; the kernel then knows of no other side any more. Of no use once this side has ended.
 */
export function brokeOff(stream: unknown): boolean {
  if (!(stream instanceof Socket) || stream instanceof TLSSocket || stream.writableEnded) return false;
  const { _handle: handle } = stream as { _handle?: { getpeername?(found: object): number } | null };
  // Not `remoteAddress`: it remembers what it said before.
  return handle?.getpeername !== undefined && handle.getpeername({}) !== 0;
}
