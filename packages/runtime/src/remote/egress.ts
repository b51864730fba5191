import { type IncomingMessage, request, type Server, STATUS_CODES } from 'node:http';
import { type Duplex, pipeline } from 'node:stream';
import type { Driver, DriverEgress } from '../contract/driver.js';
import { DRIVER_ERROR_CODES, DriverError, driverClosed } from '../contract/errors.js';

// Calls have no streams in both directions over HTTP/1.1, and what the egress process says is none of the root side's
// business: a connection to it is an upgraded one, whose bytes are passed on unread.

const PROTOCOL = 'svc-egress';
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Joins upgraded connections of a served driver to its egress process.
 * @param authorized whether a client that shows this may.
 * @returns the connections that are open, for who closes the server.
 */
export function carryEgress(
  server: Server,
  { egress }: Driver,
  authorized: (authorization: string | undefined) => boolean,
): ReadonlySet<Duplex> {
  const open = new Set<Duplex>();
  server.on('upgrade', (message: IncomingMessage, socket: Duplex, head: Buffer) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    socket.on('error', () => socket.destroy());
    if (!authorized(message.headers.authorization)) return refuse(socket, 401, 'unreachable');
    if (message.headers.upgrade !== PROTOCOL || egress === undefined)
      return refuse(socket, 404, 'unsupported');
    const gone = new AbortController();
    socket.once('close', () => gone.abort());
    egress.connect({ signal: gone.signal }).then(
      (there) => {
        socket.write(
          `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${PROTOCOL}\r\n\r\n`,
        );
        if (head.length > 0) there.write(head);
        pipeline(socket, there, () => undefined);
        pipeline(there, socket, () => undefined);
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

/** The egress process behind a served driver. @param ended aborts when the driver is closed here. */
export function remoteEgress(
  { socketPath, token }: { socketPath: string; token: string },
  ended: AbortSignal,
): DriverEgress {
  return {
    connect: ({ signal } = {}) => {
      if (ended.aborted) return Promise.reject(driverClosed());
      const limits = [ended, AbortSignal.timeout(CONNECT_TIMEOUT_MS)];
      return connectEgress(
        socketPath,
        token,
        AbortSignal.any(signal === undefined ? limits : [signal, ...limits]),
      );
    },
  };
}

function connectEgress(socketPath: string, token: string, signal: AbortSignal): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const call = request({
      socketPath,
      signal,
      agent: false,
      headers: { connection: 'upgrade', upgrade: PROTOCOL, authorization: `Bearer ${token}` },
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
  return new DriverError(code, 'The egress process does not answer.', { cause });
}
