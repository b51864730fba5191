import { connect, type Socket } from 'node:net';

const KEEP_ALIVE_MS = 60_000;

export type ConnectTcp = (address: string, port: number, signal: AbortSignal) => Promise<Socket>;

/** Connects to an address. The socket stays readable and writable by halves. @throws {Error} of the socket */
export const connectTcp: ConnectTcp = (address, port, signal) => {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const socket = connect({ host: address, port, noDelay: true, allowHalfOpen: true });
    const stop = () => {
      socket.destroy();
      fail(signal.reason);
    };
    const fail = (error: Error) => {
      signal.removeEventListener('abort', stop);
      reject(error);
    };
    signal.addEventListener('abort', stop);
    socket.once('error', fail);
    // Whoever uses the socket hears of its end too; an error at any other moment must not end the process.
    socket.on('error', () => undefined);
    socket.once('connect', () => {
      signal.removeEventListener('abort', stop);
      socket.off('error', fail);
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      resolve(socket);
    });
  });
};
