import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Refusal, renderRefusal } from './refusal.js';
import { isPreflight } from './request-line.js';

/** Longest that the rest of a refused request's body is read and thrown away, ms. */
const discardMs = 30_000;

/** Returns whether a person's browser asks for a page, rather than a program or a script on a page for data. */
export function isNavigation(req: IncomingMessage): boolean {
  const { headers } = req;
  if (!/\bMozilla\//.test(headers['user-agent'] ?? '')) return false;
  const mode = headers['sec-fetch-mode'];
  if (mode !== undefined) return mode === 'navigate';
  return !/json/i.test(headers.accept ?? '') && headers['x-requested-with'] === undefined;
}

/** Sends the gateway's own answer. A preflight is allowed instead, so that a page may see the answer to its real request. */
export function sendRefusal(req: IncomingMessage, res: ServerResponse, refusal: Refusal): void {
  if (res.headersSent || res.destroyed) return;
  if (isPreflight(req)) {
    const asked = req.headers['access-control-request-headers'];
    res.writeHead(204, {
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Allow-Methods': '*',
      ...(asked === undefined ? {} : { 'Access-Control-Allow-Headers': asked }),
      'Access-Control-Max-Age': '86400',
    });
    res.end();
    return;
  }
  const { status, headers, body } = renderRefusal(refusal, { html: isNavigation(req) });
  res.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) });
  res.end(body);
  discardBody(req);
}

/** Reads and throws away what is left of a body, so that the connection can serve again; gives up after 30 s. */
export function discardBody(req: IncomingMessage): void {
  if (req.complete || req.destroyed) {
    req.resume();
    return;
  }
  const timer = setTimeout(() => req.socket.destroy(), discardMs);
  timer.unref();
  req.once('close', () => clearTimeout(timer));
  req.once('end', () => clearTimeout(timer));
  req.resume();
}

/** Writes a response on a connection that the HTTP server has detached. The connection ends with it. */
export function answerOn(req: IncomingMessage, socket: Duplex): ServerResponse {
  socket.on('error', () => undefined);
  const res = new ServerResponse(req);
  res.shouldKeepAlive = false;
  res.assignSocket(socket as Socket);
  res.once('finish', () => {
    res.detachSocket(socket as Socket);
    socket.end();
    socket.resume();
  });
  return res;
}
