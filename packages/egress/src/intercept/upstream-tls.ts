import type { Socket } from 'node:net';
import { connect, createSecureContext, rootCertificates, type SecureContext, type TLSSocket } from 'node:tls';
import { DialError } from '../failures/dial-error.js';

const HANDSHAKE_MS = 30_000;
/** Most bytes that a side of an opened connection keeps before the other one waits: the size of one read. Types do not know of it. */
export const BUFFERED = { highWaterMark: 64 * 1024 };

/** Makes TLS with the servers that intercepted requests go to. Their certificates are always verified. */
export class UpstreamTls {
  readonly #context: SecureContext;

  /** @param extraRoots PEM; trusted beside the well-known authorities. @throws {TypeError} when it cannot be read */
  constructor(extraRoots = '') {
    try {
      this.#context =
        extraRoots === ''
          ? createSecureContext()
          : createSecureContext({ ca: [...rootCertificates, extraRoots] });
    } catch {
      throw new TypeError('the extra root certificates cannot be read');
    }
  }

  /** @throws {DialError} when the certificate does not hold, or there is no TLS; the socket is destroyed then */
  secure(socket: Socket, host: string, protocols: readonly string[]): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const secured = connect({
        socket,
        servername: host,
        secureContext: this.#context,
        rejectUnauthorized: true,
        ...BUFFERED,
        ...(protocols.length === 0 ? {} : { ALPNProtocols: [...protocols] }),
      });
      const fail = (error: NodeJS.ErrnoException) => {
        clearTimeout(timer);
        secured.destroy();
        socket.destroy();
        const code = /^[A-Z0-9_]{1,60}$/.test(error.code ?? '') ? error.code : 'failed';
        reject(new DialError(`certificate or TLS of the server: ${code}`));
      };
      const timer = setTimeout(() => fail(new Error('timeout')), HANDSHAKE_MS);
      secured.once('error', fail);
      secured.once('close', () => fail(new Error('closed')));
      secured.once('secureConnect', () => {
        clearTimeout(timer);
        secured.removeAllListeners('close');
        secured.off('error', fail);
        secured.on('error', () => undefined);
        resolve(secured);
      });
    });
  }
}
