import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Socket } from 'node:net';

/**
 * Says whether a child process keeps this one from ending. One that is waited for must: `close` comes after its pipes were read, so they
 * count as well.
 */
export function keepAlive(child: ChildProcessWithoutNullStreams, needed: boolean): void {
  const method = needed ? 'ref' : 'unref';
  child[method]();
  // The types do not say it: the pipes of a child are sockets.
  for (const stream of [child.stdin, child.stdout, child.stderr]) if (isSocket(stream)) stream[method]();
}

function isSocket(stream: object): stream is Pick<Socket, 'ref' | 'unref'> {
  return 'ref' in stream && 'unref' in stream;
}
