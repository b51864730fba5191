import type { Socket } from 'node:net';

/** The most that may be read of a connection before it is decided. */
export interface PeekLimits {
  bytes: number;
  ms: number;
}

/**
 * Looks at the first bytes of a connection until `read` has seen enough, the limits are reached, or the client ends.
 * Afterwards the socket is paused, with all of the bytes still to be read.
 * @returns what `read` made of the last bytes; undefined when nothing came
 * @throws {Error} of a connection that broke
 */
export function peek<T extends { state: string }>(
  socket: Socket,
  read: (bytes: Buffer) => T,
  limits: PeekLimits,
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    let found: T | undefined;
    const finish = (error?: Error) => {
      clearTimeout(timer);
      socket.off('readable', take).off('end', ended).off('error', finish).off('close', closed);
      if (error) return reject(error);
      if (size > 0) socket.unshift(Buffer.concat(parts));
      resolve(found);
    };
    const take = () => {
      for (;;) {
        const chunk: Buffer | null = socket.read();
        if (chunk === null) return;
        parts.push(chunk);
        size += chunk.length;
        const bytes = parts.length === 1 ? chunk : Buffer.concat(parts);
        if (parts.length > 1) parts.splice(0, parts.length, bytes);
        found = read(bytes);
        if (found.state !== 'more' || size >= limits.bytes) return finish();
      }
    };
    const ended = () => finish();
    const closed = () => finish(new Error('The connection broke.'));
    const timer = setTimeout(finish, limits.ms);
    socket.on('readable', take).on('end', ended).on('error', finish).on('close', closed);
    take();
  });
}
