import { type IncomingMessage, request, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { DRIVER_ERROR_CODES, DriverError } from '../contract/errors.js';

/** Takes over an upgraded connection. Returns the function that answers the client first. */
export type TakeOver = (lost: AbortSignal) => Promise<(socket: Duplex) => void>;

/**
 * Lets clients of a server upgrade connections.
 * @param authorized whether a client that shows this may.
 * @param protocols by the name of the protocol.
 * @returns the connections that are open, for who closes the server.
 */
export function serveUpgrades(
  server: Server,
  authorized: (authorization: string | undefined) => boolean,
  protocols: Record<string, TakeOver>,
): ReadonlySet<Duplex> {
  const open = new Set<Duplex>();
  server.on('upgrade', (message: IncomingMessage, socket: Duplex, head: Buffer) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    socket.on('error', () => socket.destroy());
    if (!authorized(message.headers.authorization)) return refuse(socket, 401, 'unreachable');
    const name = message.headers.upgrade ?? '';
    const takeOver = Object.hasOwn(protocols, name) ? protocols[name] : undefined;
    if (takeOver === undefined) return refuse(socket, 404, 'unsupported');
    const lost = new AbortController();
    socket.once('close', () => lost.abort());
    takeOver(lost.signal).then(
      (use) => {
        socket.write(`HTTP/1.1 101 ${STATUS_CODES[101]}\r\nconnection: upgrade\r\nupgrade: ${name}\r\n\r\n`);
        if (head.length > 0) socket.unshift(head);
        use(socket);
      },
      (error: unknown) => refuse(socket, 503, DriverError.is(error) ? error.code : ''),
    );
  });
  return open;
}

function refuse(socket: Duplex, status: number, code: string): void {
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-length: ${code.length}\r\n\r\n${code}`,
  );
}

/** Opens a connection to a server with {@link serveUpgrades}. @throws {DriverError} as the server has it, or `unreachable` */
export function openUpgraded(
  { socketPath, token }: { socketPath: string; token: string },
  protocol: string,
  signal: AbortSignal,
): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const call = request({
      socketPath,
      signal,
      agent: false,
      headers: { connection: 'upgrade', upgrade: protocol, authorization: `Bearer ${token}` },
    });
    call.once('upgrade', (_answer, socket, head) => {
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    call.once('response', (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      answer.once('close', () => reject(unreachable(text)));
    });
    call.once('error', (cause) => reject(unreachable('unreachable', cause)));
    call.end();
  });
}

function unreachable(text: string, cause?: unknown): DriverError {
  const code = DRIVER_ERROR_CODES.find((each) => each === text) ?? 'unreachable';
  return new DriverError(code, 'The process on the other side does not answer.', { cause });
}
