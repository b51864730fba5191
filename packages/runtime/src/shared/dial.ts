import { connect, type Socket } from 'node:net';
import { DriverError } from '../contract/errors.js';

/** Opens a connection that is ready for reading and writing. */
export type Dial = (signal?: AbortSignal) => Promise<Socket>;

/**
 * Connects by TCP, without Nagle's delay.
 * @throws {DriverError} `port_closed` when nothing listens, `instance_gone` when the host is out of reach. An abort
 * rejects with the signal's reason.
 */
export function dialTcp(host: string, port: number, signal?: AbortSignal): Promise<Socket> {
  return connected(
    () => connect({ host, port, noDelay: true }),
    (error) => dialError(error, port),
    signal,
  );
}

/** Connects to the control socket of the egress process. @throws {DriverError} `unreachable` */
export function dialUnix(path: string, signal?: AbortSignal): Promise<Socket> {
  return connected(
    () => connect({ path }),
    (cause) => new DriverError('unreachable', 'The egress process does not answer.', { cause }),
    signal,
  );
}

function connected(
  open: () => Socket,
  failure: (error: NodeJS.ErrnoException) => DriverError,
  signal: AbortSignal | undefined,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const socket = open();
    const settle = () => {
      signal?.removeEventListener('abort', onAbort);
      socket.off('error', onError);
      socket.off('connect', onConnect);
    };
    const onAbort = () => {
      settle();
      socket.on('error', () => undefined);
      socket.destroy();
      reject(signal?.reason);
    };
    const onError = (error: NodeJS.ErrnoException) => {
      settle();
      socket.destroy();
      reject(failure(error));
    };
    const onConnect = () => {
      settle();
      resolve(socket);
    };
    socket.once('error', onError);
    socket.once('connect', onConnect);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Translates a failed connect for the caller of `Instance.dial`. */
export function dialError(error: NodeJS.ErrnoException, port: number): DriverError {
  if (error.code === 'ECONNREFUSED' || error.code === 'ECONNRESET') {
    return new DriverError('port_closed', `Nothing listens on port ${port} inside the sandbox.`, {
      cause: error,
    });
  }
  return new DriverError('instance_gone', 'The sandbox cannot be reached.', {
    cause: error,
    detail: error.message,
  });
}
