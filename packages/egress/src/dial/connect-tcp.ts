import { connect, type OnReadOpts, type Socket } from 'node:net';

const KEEP_ALIVE_MS = 60_000;

/** @param onread where what is read goes: the connection is no stream then, and begins paused */
export type ConnectTcp = (
  address: string,
  port: number,
  signal: AbortSignal,
  onread?: OnReadOpts,
) => Promise<Socket>;

/** Connects to an address. The socket stays readable and writable by halves. @throws {Error} of the socket */
export const connectTcp: ConnectTcp = (address, port, signal, onread) => {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const how = { noDelay: true, allowHalfOpen: true, ...(onread === undefined ? {} : { onread }) };
    const socket = connect({ host: address, port, ...how });
    if (onread !== undefined) socket.pause();
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
    // The user of the socket hears of its end too; an error at any other moment must not end the process.
    socket.on('error', () => undefined);
    socket.once('connect', () => {
      signal.removeEventListener('abort', stop);
      socket.off('error', fail);
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      resolve(socket);
    });
  });
};
