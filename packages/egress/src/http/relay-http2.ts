import {
  type ClientHttp2Stream,
  connect,
  constants,
  type Http2Stream,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Duplex } from 'node:stream';
import { splitAuthority } from '@svc/network-policy';
import type { ByteCounts } from '../sandboxes/reports.js';
import type { HttpConnection, RequestPlan } from './exchange.js';

/** Most bytes from a client that the server has not taken: the client is near. */
const CLIENT_WINDOW_BYTES = 256 * 1024;
/** The same from a server, which is far away. */
const UPSTREAM_WINDOW_BYTES = 2 ** 20;
/** Of one connection, for what is not bodies. */
const SESSION_MEMORY_MB = 1;
const SETTINGS = {
  initialWindowSize: CLIENT_WINDOW_BYTES,
  maxHeaderListSize: 32 * 1024,
  maxConcurrentStreams: 100,
};

/** Fields of HTTP/1 that must not stand in a message of HTTP/2, but for `te: trailers`. */
const ABOUT_CONNECTION = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]);

/** Reads a connection as HTTP/2 and sends each of its requests on over another one. Both end together. */
export function relayHttp2(parts: {
  client: Duplex;
  upstream: Duplex;
  connection: HttpConnection;
  /** Counts the bodies. */
  bytes: ByteCounts;
}): void {
  const { client, upstream, connection, bytes } = parts;
  // HTTP/2 has no use for a connection that one side has ended: it would stay for as long as the other side likes.
  for (const side of [client, upstream]) side.allowHalfOpen = false;
  const server = performServerHandshake(client, {
    settings: SETTINGS,
    maxSessionMemory: SESSION_MEMORY_MB,
  });
  const session = connect('https://upstream', {
    createConnection: () => upstream,
    settings: { enablePush: false, initialWindowSize: UPSTREAM_WINDOW_BYTES },
    maxSessionMemory: SESSION_MEMORY_MB,
  });
  server.once('connect', () => server.setLocalWindowSize(CLIENT_WINDOW_BYTES));
  session.once('connect', () => session.setLocalWindowSize(UPSTREAM_WINDOW_BYTES));
  server.on('error', () => connection.cut());
  session.on('error', () => connection.cut());
  server.once('close', () => session.destroy());
  // Requests that run continue, and the client is asked to make another connection.
  session.once('goaway', () => server.close());
  session.once('close', () => server.close());
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    serve(stream, headers).catch((error) => breakOff(error, connection, stream));
  });

  const serve = async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> => {
    const plan = await planOf(headers, connection);
    if (stream.destroyed) return;
    if (plan.kind === 'cut') return connection.cut();
    if (plan.kind === 'answer') {
      stream.respond({ ':status': plan.status, 'content-type': 'text/plain; charset=utf-8' });
      stream.end(plan.text);
      return;
    }
    if (session.destroyed || session.closed) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
    const outgoing = passedOn(headers);
    for (const [name, value] of plan.set) outgoing[name.toLowerCase()] = value;
    exchange(
      stream,
      session.request(outgoing, { endStream: stream.readableEnded, waitForTrailers: true }),
      connection,
      bytes,
    );
  };
}

/** Decides about a request. One that names two hosts is refused: the server might believe the other one. */
async function planOf(headers: IncomingHttpHeaders, connection: HttpConnection): Promise<RequestPlan> {
  const { ':method': method = '', ':authority': authority, host: field } = headers;
  if (method === 'CONNECT') return { kind: 'answer', status: 405, text: 'Not passed on.\n' };
  if (authority !== undefined && field !== undefined && authority.toLowerCase() !== field.toLowerCase())
    return { kind: 'answer', status: 400, text: 'The request names two hosts.\n' };
  const host = splitAuthority(authority ?? field ?? '')?.host;
  return connection.plan({ method, host });
}

/** Leaves out what is about a connection of HTTP/1: the library takes it from strangers, and throws when it is to send it. */
function passedOn(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const kept: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers))
    if (!ABOUT_CONNECTION.has(name) || (name === 'te' && value === 'trailers')) kept[name] = value;
  return kept;
}

function breakOff(error: unknown, connection: HttpConnection, ...streams: Http2Stream[]): void {
  connection.fail(error);
  for (const stream of streams) if (!stream.destroyed) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
}

function exchange(
  stream: ServerHttp2Stream,
  upstream: ClientHttp2Stream,
  connection: HttpConnection,
  bytes: ByteCounts,
): void {
  let sent: OutgoingHttpHeaders = {};
  let received: OutgoingHttpHeaders = {};
  /** A failure of the library to send on costs these two streams. */
  const attempt = (send: () => void) => {
    if (stream.destroyed) return;
    try {
      send();
    } catch (error) {
      breakOff(error, connection, stream, upstream);
    }
  };
  stream.on('trailers', (trailers) => {
    sent = passedOn(trailers);
  });
  upstream.on('wantTrailers', () => attempt(() => upstream.sendTrailers(sent)));
  upstream.on('headers', (headers) => attempt(() => stream.additionalHeaders(passedOn(headers))));
  upstream.on('response', (headers, flags) =>
    attempt(() => {
      const ends = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      stream.respond(passedOn(headers), ends ? { endStream: true } : { waitForTrailers: true });
      if (!ends) upstream.pipe(stream);
    }),
  );
  upstream.on('trailers', (trailers) => {
    received = passedOn(trailers);
  });
  stream.on('wantTrailers', () => attempt(() => stream.sendTrailers(received)));
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
