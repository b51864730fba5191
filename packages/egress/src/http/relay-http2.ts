import {
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Duplex } from 'node:stream';
import { splitAuthority } from '../policy/hosts.js';
import type { ByteCounts } from '../sandboxes/reports.js';
import type { HttpConnection, RequestPlan } from './exchange.js';

const WINDOW_BYTES = 2 ** 20;
const SESSION_WINDOW_BYTES = 4 * 2 ** 20;
const SETTINGS = { initialWindowSize: WINDOW_BYTES, maxHeaderListSize: 64 * 1024, maxConcurrentStreams: 100 };

/** Reads a connection as HTTP/2 and sends each of its requests on over another one. Both end together. */
export function relayHttp2(parts: {
  client: Duplex;
  upstream: Duplex;
  connection: HttpConnection;
  /** Counts the bodies. */
  bytes: ByteCounts;
}): void {
  const { client, upstream, connection, bytes } = parts;
  const server = performServerHandshake(client, { settings: SETTINGS });
  const session = connect('https://upstream', {
    createConnection: () => upstream,
    settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
  });
  server.once('connect', () => server.setLocalWindowSize(SESSION_WINDOW_BYTES));
  session.once('connect', () => session.setLocalWindowSize(SESSION_WINDOW_BYTES));
  server.on('error', () => connection.cut());
  session.on('error', () => connection.cut());
  server.once('close', () => session.destroy());
  // Requests that run go on, and the client is told to make another connection.
  session.once('goaway', () => server.close());
  session.once('close', () => server.close());
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    void serve(stream, headers);
  });

  const serve = async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> => {
    const authority = headers[':authority'] ?? headers.host;
    const host = authority === undefined ? undefined : splitAuthority(authority)?.host;
    const plan: RequestPlan =
      headers[':method'] === 'CONNECT'
        ? { kind: 'answer', status: 405, text: 'Not passed on.\n' }
        : await connection.plan({ method: headers[':method'] ?? '', host });
    if (stream.destroyed) return;
    if (plan.kind === 'cut') return connection.cut();
    if (plan.kind === 'answer') {
      stream.respond({ ':status': plan.status, 'content-type': 'text/plain; charset=utf-8' });
      stream.end(plan.text);
      return;
    }
    if (session.destroyed || session.closed) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
    const outgoing: OutgoingHttpHeaders = { ...headers };
    for (const [name, value] of plan.set) outgoing[name.toLowerCase()] = value;
    exchange(
      stream,
      session.request(outgoing, { endStream: stream.readableEnded, waitForTrailers: true }),
      connection,
      bytes,
    );
  };
}

function exchange(
  stream: ServerHttp2Stream,
  upstream: ClientHttp2Stream,
  connection: HttpConnection,
  bytes: ByteCounts,
): void {
  let sent: OutgoingHttpHeaders = {};
  let received: OutgoingHttpHeaders = {};
  stream.on('trailers', (trailers) => {
    sent = trailers;
  });
  upstream.on('wantTrailers', () => upstream.sendTrailers(sent));
  upstream.on('headers', (headers) => {
    if (!stream.destroyed) stream.additionalHeaders(headers);
  });
  upstream.on('response', (headers, flags) => {
    if (stream.destroyed) return;
    const ends = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    stream.respond(headers, ends ? { endStream: true } : { waitForTrailers: true });
    if (!ends) upstream.pipe(stream);
  });
  upstream.on('trailers', (trailers) => {
    received = trailers;
  });
  stream.on('wantTrailers', () => stream.sendTrailers(received));
  stream.on('data', (chunk: Buffer) => {
    bytes.bytesRead += chunk.length;
  });
  upstream.on('data', (chunk: Buffer) => {
    bytes.bytesWritten += chunk.length;
  });
  upstream.pause();
  stream.pipe(upstream);
  upstream.on('error', (error) => {
    connection.fail(error);
    if (!stream.destroyed) stream.close(upstream.rstCode || constants.NGHTTP2_INTERNAL_ERROR);
  });
  upstream.once('close', () => {
    if (!stream.destroyed && upstream.rstCode !== constants.NGHTTP2_NO_ERROR) stream.close(upstream.rstCode);
  });
  stream.once('aborted', () => upstream.close(constants.NGHTTP2_CANCEL));
  stream.once('close', () => {
    if (!upstream.destroyed && stream.rstCode !== constants.NGHTTP2_NO_ERROR) upstream.close(stream.rstCode);
  });
}
