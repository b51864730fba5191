import type { Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { type EgressProxy, parseAddress, parseAuthority } from '@svc/network-policy';
import { DialError } from '../failures/dial-error.js';
import { within } from '../failures/within.js';
import { socksConnect } from './socks.js';

/**
 * Connects to a host through a SOCKS5 proxy. Names are resolved by the proxy.
 * @param open connects to the proxy itself
 * @throws {DialError}
 */
export async function connectThroughProxy(
  proxy: EgressProxy,
  target: { host: string; port: number },
  open: (host: string, port: number) => Promise<Socket>,
  signal: AbortSignal,
): Promise<Socket | TLSSocket> {
  const { host, port } = parseAuthority(proxy.address) ?? {};
  if (host === undefined || port === undefined) throw new DialError('proxy address is not host:port');
  let socket: Socket | TLSSocket | undefined;
  try {
    socket = await open(host, port);
    if (proxy.tls?.enabled === true) socket = await secure(socket, proxy, host, signal);
    await socksConnect(socket, { ...proxy, ...target }, signal);
    return socket;
  } catch (error) {
    socket?.destroy();
    if (signal.aborted) throw signal.reason;
    throw error instanceof DialError ? error : new DialError('proxy unreachable');
  }
}

function secure(socket: Socket, proxy: EgressProxy, host: string, signal: AbortSignal): Promise<TLSSocket> {
  const name = proxy.tls?.serverName ?? host;
  const secured = connectTls({
    socket,
    host: name,
    // Only names may stand in the handshake; a certificate is checked against the address all the same.
    ...(parseAddress(name) === undefined ? { servername: name } : {}),
    ...(proxy.tls?.caCert === undefined ? {} : { ca: proxy.tls.caCert }),
  });
  const ready = new Promise<TLSSocket>((resolve, reject) => {
    secured.once('secureConnect', () => {
      secured.off('error', reject);
      resolve(secured);
    });
    secured.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new DialError(
          `proxy certificate or TLS: ${/^[A-Z0-9_]+$/.test(error.code ?? '') ? error.code : 'failed'}`,
        ),
      ),
    );
  });
  return within(signal, ready);
}
