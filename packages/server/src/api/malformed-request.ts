import type { Socket } from 'node:net';
import { corsHeaders } from './cors.js';
import { errors } from './errors/catalog.js';

/** How long the head of a request may take to arrive. */
export const HEAD_READ_MS = 5_000;

/**
 * Answers what is no HTTP request at all, or does not arrive in time, with the error record, as any other bad request, and ends the connection:
 * where the next request would begin is unknown.
 */
export function answerMalformedRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  // The client left: there is nobody to tell.
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const slow = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  const failure = slow
    ? errors.requestTooSlow(HEAD_READ_MS / 1_000)
    : errors.validation('the request is not well-formed HTTP');
  const body = JSON.stringify(failure.toRecord());
  const headers = {
    ...corsHeaders,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${slow ? '408 Request Timeout' : '400 Bad Request'}\r\n${lines.join('')}\r\n${body}`);
}
