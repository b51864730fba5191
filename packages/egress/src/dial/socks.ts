import type { Duplex } from 'node:stream';
import { parseAddress } from '@svc/network-policy';
import { DialError } from '../failures/dial-error.js';
import { within } from '../failures/within.js';

const VERSION = 5;
const NO_AUTHENTICATION = 0;
const PASSWORD = 2;
const CONNECT = 1;
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;

const REPLIES = [
  '',
  'proxy failed',
  'refused by the proxy',
  'network unreachable from the proxy',
  'host unreachable from the proxy',
  'connection refused',
  'expired at the proxy',
  'refused by the proxy',
  'refused by the proxy',
];

export interface SocksRequest {
  /** A name, which the proxy resolves, or an address. */
  host: string;
  port: number;
  username?: string;
  password?: string;
}

/**
 * Asks a SOCKS5 proxy (RFC 1928, RFC 1929) at the other end of a stream for a connection. Afterwards the stream is that
 * connection, paused, with nothing read of it.
 * @throws {DialError}
 */
export async function socksConnect(
  stream: Duplex,
  request: SocksRequest,
  signal: AbortSignal,
): Promise<void> {
  const { username, password = '' } = request;
  const read = (size: number) => within(signal, readExactly(stream, size));
  stream.write(
    Buffer.from(username ? [VERSION, 2, NO_AUTHENTICATION, PASSWORD] : [VERSION, 1, NO_AUTHENTICATION]),
  );
  const [version, method] = await read(2);
  if (version !== VERSION) throw new DialError('proxy does not speak SOCKS5');
  if (method === PASSWORD && username) {
    stream.write(Buffer.concat([Buffer.from([1]), counted(username), counted(password)]));
    const [, status] = await read(2);
    if (status !== 0) throw new DialError('proxy refused the username or password');
  } else if (method !== NO_AUTHENTICATION) throw new DialError('proxy wants another authentication');

  const port = Buffer.alloc(2);
  port.writeUInt16BE(request.port);
  stream.write(Buffer.concat([Buffer.from([VERSION, CONNECT, 0]), destination(request.host), port]));
  const [, reply, , type] = await read(4);
  if (reply !== 0) throw new DialError(REPLIES[reply ?? 1] ?? 'proxy failed');
  // The address that the proxy connects from is of no use here, but has to be read.
  const size = type === NAME ? (await read(1))[0]! : type === IPV6 ? 16 : 4;
  await read(size + 2);
}

function destination(host: string): Buffer {
  const address = parseAddress(host);
  if (address === undefined) return Buffer.concat([Buffer.from([NAME]), counted(host)]);
  const size = address.family === 4 ? 4 : 16;
  const digits = address.value.toString(16).padStart(size * 2, '0');
  return Buffer.concat([Buffer.from([size === 4 ? IPV4 : IPV6]), Buffer.from(digits, 'hex')]);
}

function counted(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length === 0 || bytes.length > 255) throw new DialError('too long for the proxy');
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

function readExactly(stream: Duplex, size: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const finish = (error?: Error) => {
      stream.off('readable', take).off('end', ended).off('close', ended).off('error', ended);
      if (error) reject(error);
    };
    const take = () => {
      const bytes: Buffer | null = stream.read(size);
      if (bytes === null) return;
      if (bytes.length < size) return ended();
      finish();
      resolve(bytes);
    };
    const ended = () => finish(new DialError('proxy closed the connection'));
    stream.on('readable', take).on('end', ended).on('close', ended).on('error', ended);
    take();
  });
}
