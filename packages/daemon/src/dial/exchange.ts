import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { type Duplex, Readable } from 'node:stream';

/** Longest head of an answer, bytes; trailers and the extensions of chunks have the same limit each. */
const MAX_HEAD_BYTES = 16 * 1024;
/** Most `1xx` answers before the real one. */
const MAX_INTERIM_ANSWERS = 4;

/** Opens a connection to a daemon that is ready for reading and writing. An abort rejects. */
export type DaemonDial = (signal: AbortSignal) => Promise<Duplex>;

export interface DaemonRequest {
  method: string;
  path: string;
  headers?: OutgoingHttpHeaders;
  /** A stream is sent in chunks, anything else with its length. */
  body?: string | Uint8Array | Readable;
}

/** The daemon's side of an exchange was not an answer: too large, too long, broken off, not HTTP. */
export class DaemonProtocolError extends Error {
  override readonly name = 'DaemonProtocolError';
}

/** Makes the error of a failed request, without its query. */
export function protocolError({ method, path }: DaemonRequest, what: string, cause?: unknown) {
  return new DaemonProtocolError(`${method} ${path.split('?', 1)[0]}: ${what}`, { cause });
}

/**
 * Sends one request on a connection of its own and gives the answer once its head is here. The caller bounds what it
 * reads of the body; the connection ends with the body, when the body is destroyed, and by the signal.
 *
 * A program of root in a sandbox may answer in the daemon's place, so the head is bounded, and nothing but an answer in
 * HTTP is taken for one.
 * @throws {DaemonProtocolError} when there is no answer. An abort rejects with the signal's reason; what `dial` rejects
 * with is passed on.
 */
export async function exchange(
  dial: DaemonDial,
  asked: DaemonRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  signal.throwIfAborted();
  const socket = await dial(signal);
  // Errors of the connection reach us through the request; one that comes after its end concerns nobody.
  socket.on('error', () => undefined);
  try {
    const answer = await sendOver(socket, asked, signal);
    answer.once('close', () => socket.destroy());
    return answer;
  } catch (error) {
    socket.destroy();
    signal.throwIfAborted();
    throw error;
  }
}

function sendOver(socket: Duplex, asked: DaemonRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const { method, path, body, headers } = asked;
  return new Promise((resolve, reject) => {
    const fail = (what: string, cause?: unknown) => reject(protocolError(asked, what, cause));
    const length =
      body === undefined || body instanceof Readable ? {} : { 'content-length': Buffer.byteLength(body) };
    const sent = httpRequest({
      method,
      path,
      createConnection: () => socket,
      headers: { host: 'sandbox', connection: 'close', ...length, ...headers },
      maxHeaderSize: MAX_HEAD_BYTES,
      insecureHTTPParser: false,
      signal,
    });
    let interim = 0;
    sent.on('information', () => {
      interim += 1;
      if (interim > MAX_INTERIM_ANSWERS) fail('too many interim answers');
    });
    // Without a listener Node closes the connection and notifies nobody.
    sent.on('upgrade', () => fail('an answer that nobody asked for: another protocol'));
    sent.on('error', (error) => fail('no answer in HTTP', error));
    sent.on('close', () => fail('the connection closed before an answer came'));
    sent.on('response', resolve);
    if (body instanceof Readable) {
      body.once('error', reject);
      body.once('close', () => {
        if (!body.readableEnded) sent.destroy();
      });
      sent.once('close', () => body.destroy());
      body.pipe(sent);
    } else sent.end(body);
  });
}
