import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Refusal } from './refusal.js';
import { type ResponseRelay, relayResponse } from './relay-response.js';

export interface UpgradeOptions {
  req: IncomingMessage;
  /** The client's connection, and what of the new protocol it has sent already. */
  socket: Duplex;
  head: Buffer;
  /** Writes ordinary answers to the same connection. */
  res: ServerResponse;
  /** A fresh connection to the service. */
  stream: Duplex;
  url: string;
  headers: string[];
  refuse: (reason: Refusal['reason']) => void;
  onBytes: (count: number) => void;
  onBroken: () => void;
}

export interface UpgradeForwarding {
  stop(message: string): void;
}

function rawHead(up: IncomingMessage): string {
  let text = `HTTP/1.1 ${up.statusCode} ${up.statusMessage}\r\n`;
  for (let i = 0; i + 1 < up.rawHeaders.length; i += 2)
    text += `${up.rawHeaders[i]}: ${up.rawHeaders[i + 1]}\r\n`;
  return `${text}\r\n`;
}

/** Joins two connections: bytes and ends both ways; when one closes, so does the other. */
export function join(a: Duplex, b: Duplex): void {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    from.on('error', () => to.destroy());
    from.once('close', () => to.destroy());
    from.pipe(to);
  }
}

/** Asks the service to switch protocols and, if it does, joins the two connections. A refusal is passed on like any response. */
export function forwardUpgrade(options: UpgradeOptions): UpgradeForwarding {
  const { req, socket, head, res, stream, refuse } = options;
  let relay: ResponseRelay | undefined;
  let joined = false;
  let over = false;
  const upstream = httpRequest({
    createConnection: () => stream,
    method: req.method ?? 'GET',
    path: options.url,
    headers: options.headers,
    setHost: false,
    maxHeaderSize: 64 * 1024,
  });
  const fail = (reason: Refusal['reason']) => {
    if (joined || relay || over) return;
    over = true;
    refuse(reason);
  };
  upstream.on('error', () => fail('upstream_failed'));
  upstream.once('close', () => fail('upstream_failed'));
  upstream.once('upgrade', (up, upSocket, upHead) => {
    joined = true;
    if (over || socket.destroyed) {
      upSocket.destroy();
      return;
    }
    res.detachSocket(socket as Socket);
    socket.write(Buffer.concat([Buffer.from(rawHead(up), 'latin1'), upHead]));
    if (head.length > 0) upSocket.write(head);
    join(socket, upSocket);
  });
  upstream.once('response', (up) => {
    if (over || socket.destroyed) {
      stream.destroy();
      return;
    }
    try {
      relay = relayResponse({ up, res, onBytes: options.onBytes, onBroken: options.onBroken });
    } catch {
      fail('upstream_failed');
      stream.destroy();
    }
  });
  socket.once('close', () => {
    over = true;
    stream.destroy();
  });
  upstream.end();

  return {
    stop(message) {
      if (relay) relay.breakOff(message);
      else if (joined) socket.destroy();
      else fail('sandbox_stopped');
      over = true;
      stream.destroy();
    },
  };
}
