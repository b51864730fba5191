import type { Socket } from 'node:net';
import { DriverError } from '../contract/errors.js';
import type { Dial } from './dial.js';

/** The daemon answers a CONNECT with a short header; more than this is not a daemon. */
const HEADER_LIMIT_BYTES = 8 * 1024;

/**
 * Opens a connection to a loopback listener inside an instance, through the daemon's HTTP CONNECT.
 *
 * @param dial connects to the daemon.
 * @throws {DriverError} `port_closed` when the daemon finds no listener, `instance_gone` when it does not answer.
 */
export async function tunnelThroughDaemon(dial: Dial, port: number, signal?: AbortSignal): Promise<Socket> {
  const socket = await dial(signal).catch((error: unknown) => {
    // Refused here means that the daemon has exited, not the port behind it.
    if (!DriverError.is(error)) throw error;
    throw new DriverError('instance_gone', 'The sandbox cannot be reached.', { cause: error });
  });
  try {
    const { status, rest } = await requestTunnel(socket, `127.0.0.1:${port}`, signal);
    if (status !== 200) {
      throw new DriverError('port_closed', `Nothing listens on port ${port} inside the sandbox.`, {
        detail: `the daemon answered CONNECT with ${status}`,
      });
    }
    if (rest.length > 0) socket.unshift(rest);
    return socket;
  } catch (error) {
    socket.on('error', () => undefined);
    socket.destroy();
    throw error;
  }
}

/** Asks the other end for a connection to `authority`. `rest` is what came after its answer. */
export function requestTunnel(
  socket: Socket,
  authority: string,
  signal?: AbortSignal,
): Promise<{ status: number; rest: Buffer }> {
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  return readConnectAnswer(socket, signal);
}

/** Reads up to the end of the response header; leaves the socket paused. `rest` is what came after the header. */
function readConnectAnswer(socket: Socket, signal?: AbortSignal): Promise<{ status: number; rest: Buffer }> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    let received = Buffer.alloc(0);
    const settle = () => {
      socket.off('readable', onReadable);
      socket.off('error', onGone);
      socket.off('close', onGone);
      signal?.removeEventListener('abort', onAbort);
    };
    const onAbort = () => {
      settle();
      reject(signal?.reason);
    };
    const onGone = (cause?: unknown) => {
      settle();
      reject(
        new DriverError('instance_gone', 'The sandbox ended the connection.', {
          cause: cause instanceof Error ? cause : undefined,
        }),
      );
    };
    const onReadable = () => {
      for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) {
        received = Buffer.concat([received, chunk as Buffer]);
        const end = received.indexOf('\r\n\r\n');
        if (end !== -1) {
          settle();
          const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(received.toString('latin1', 0, end))?.[1] ?? 0);
          return resolve({ status, rest: received.subarray(end + 4) });
        }
        if (received.length > HEADER_LIMIT_BYTES) return onGone();
      }
    };
    socket.on('readable', onReadable);
    socket.once('error', onGone);
    socket.once('close', onGone);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
