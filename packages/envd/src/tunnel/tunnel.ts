import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

const LOOPBACK = ['127.0.0.1', '::1'];

/**
 * Answers HTTP CONNECT for `127.0.0.1:<port>` (or `localhost`, `[::1]`) by a tunnel to whatever listens there inside,
 * on IPv4 first, else IPv6. Other targets: 403. Nobody listening: 502.
 */
export function handleConnectMethod(request: IncomingMessage, client: Duplex, head: Buffer): void {
  client.on('error', () => client.destroy());
  const port = loopbackPort(request.url ?? '');
  if (port === undefined) {
    refuse(client, 403, 'Forbidden');
    return;
  }
  dial(port, LOOPBACK, (target) => {
    if (!target) {
      refuse(client, 502, 'Bad Gateway');
      return;
    }
    if (client.destroyed) {
      target.destroy();
      return;
    }
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    joinStreams(client, target, head);
  });
}

/** The port of a loopback authority; undefined for everything else. */
export function loopbackPort(authority: string): number | undefined {
  const match = /^(?:127\.0\.0\.1|localhost|\[::1\]):(\d{1,5})$/i.exec(authority);
  const port = Number(match?.[1]);
  return port >= 1 && port <= 65_535 ? port : undefined;
}

/** Joins a client with what it reached: bytes and ends both ways; when one is gone, so is the other. */
export function joinStreams(client: Duplex, target: Duplex, head: Buffer): void {
  target.on('error', () => client.destroy());
  client.on('close', () => target.destroy());
  target.on('close', () => client.end());
  if (head.length > 0) target.write(head);
  client.pipe(target);
  target.pipe(client);
}

function dial(port: number, hosts: readonly string[], done: (target: Socket | undefined) => void): void {
  const [host, ...others] = hosts;
  if (host === undefined) {
    done(undefined);
    return;
  }
  const socket = connect({ host, port, allowHalfOpen: true, noDelay: true });
  const failed = () => dial(port, others, done);
  socket.once('error', failed);
  socket.once('connect', () => {
    socket.off('error', failed);
    done(socket);
  });
}

function refuse(client: Duplex, status: number, reason: string): void {
  client.end(`HTTP/1.1 ${status} ${reason}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
}
