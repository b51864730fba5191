import { request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';

/** Longest head of an answer, bytes; trailers and the extensions of chunks have the same limit each. */
const MAX_HEAD_BYTES = 16 * 1024;
/** Most `1xx` answers before the real one. */
const MAX_INTERIM_ANSWERS = 4;

export interface DaemonRequest {
  method: string;
  path: string;
  headers?: OutgoingHttpHeaders;
  body?: string | Uint8Array;
}

export interface DaemonLimits {
  /** Bounds the whole exchange in time; required, because the other side may never end. */
  signal: AbortSignal;
  /** Most bytes of body that are read. */
  maxBytes: number;
  /**
   * Says that what has come is enough; asked when the head is here, with no bytes yet, and after each piece. The
   * exchange then ends. Default: the whole body is read.
   */
  enough?: (status: number, received: Buffer) => boolean;
}

export interface DaemonReply {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** The daemon's side of an exchange was not an answer: too large, too long, broken off, not HTTP. */
export class DaemonProtocolError extends Error {
  override readonly name = 'DaemonProtocolError';
}

/**
 * One request on a connection of its own. Whoever is root in a sandbox may answer in the daemon's place, so everything
 * about the answer is bounded, and whatever it is costs this call only.
 * @throws {DaemonProtocolError} when there is no answer within the limits. An abort rejects with the signal's reason; what
 * `open` rejects with is passed on.
 */
export async function askDaemon(
  open: (signal: AbortSignal) => Promise<Duplex>,
  request: DaemonRequest,
  limits: DaemonLimits,
): Promise<DaemonReply> {
  const { signal } = limits;
  signal.throwIfAborted();
  const socket = await open(signal);
  // Errors of the connection reach us through the request; one that comes after its end concerns nobody.
  socket.on('error', () => undefined);
  try {
    return await exchange(socket, request, limits);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    socket.destroy();
  }
}

function exchange(socket: Duplex, asked: DaemonRequest, limits: DaemonLimits): Promise<DaemonReply> {
  const { method, path, body } = asked;
  return new Promise((resolve, reject) => {
    const fail = (what: string, cause?: unknown) => {
      reject(new DaemonProtocolError(`${method} ${path.split('?', 1)[0]}: ${what}`, { cause }));
      socket.destroy();
    };
    const sent = httpRequest({
      method,
      path,
      createConnection: () => socket,
      headers: {
        host: 'sandbox',
        connection: 'close',
        ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
        ...asked.headers,
      },
      maxHeaderSize: MAX_HEAD_BYTES,
      insecureHTTPParser: false,
      signal: limits.signal,
    });
    let interim = 0;
    sent.on('information', () => {
      interim += 1;
      if (interim > MAX_INTERIM_ANSWERS) fail('too many interim answers');
    });
    // Without a listener Node closes the connection and tells nobody.
    sent.on('upgrade', () => fail('an answer that nobody asked for: another protocol'));
    sent.on('error', (error) => fail('no answer in HTTP', error));
    const onUnanswered = () => fail('the connection closed before an answer came');
    sent.on('close', onUnanswered);
    sent.on('response', (response) => {
      const status = response.statusCode ?? 0;
      let received: Buffer = Buffer.alloc(0);
      const chunks: Buffer[] = [];
      let size = 0;
      const reply = () => resolve({ status, headers: response.headers, body: Buffer.concat(chunks) });
      sent.off('close', onUnanswered);
      response.on('error', (error) => fail('the answer broke off', error));
      response.on('close', () => fail('the answer broke off'));
      if (limits.enough?.(status, received) === true) {
        response.resume();
        reply();
        return;
      }
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > limits.maxBytes) {
          fail(`the answer is larger than ${limits.maxBytes} bytes`);
          return;
        }
        chunks.push(chunk);
        if (limits.enough === undefined) return;
        received = Buffer.concat([received, chunk]);
        if (limits.enough(status, received)) reply();
      });
      response.on('end', reply);
    });
    sent.end(body);
  });
}
