import type { Socket } from 'node:net';
import { errors } from '../errors/catalog.js';
import { corsHeaders } from './cors.js';

/**
 * Answers what is no HTTP request at all with the error record, as any other bad request, and ends the connection:
 * where the next request would begin is unknown.
 */
export function answerMalformedRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  // The client left: there is nobody to tell.
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(errors.validation('the request is not well-formed HTTP').toRecord());
  const headers = {
    ...corsHeaders,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 400 Bad Request\r\n${lines.join('')}\r\n${body}`);
}
