import type { IncomingMessage, ServerResponse } from 'node:http';

const METHODS = 'HEAD, GET, POST, PUT, PATCH, DELETE';
const EXPOSED = [
  'Connect-Content-Encoding',
  'Connect-Accept-Encoding',
  'Content-Encoding',
  'Content-Disposition',
  'Content-Range',
  'Accept-Ranges',
  'ETag',
  'Location',
  'Cache-Control',
  'X-Content-Type-Options',
].join(', ');

/** Marks the response as readable from any web page. Answers a preflight and returns true. */
export function handleCors(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.headers.origin === undefined) return false;
  response.setHeader('Access-Control-Allow-Origin', '*');
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
    response.setHeader('Access-Control-Expose-Headers', EXPOSED);
    return false;
  }
  // A literal `*` would not cover Authorization, so each header that is asked for is named.
  response.setHeader(
    'Access-Control-Allow-Headers',
    request.headers['access-control-request-headers'] ?? '*',
  );
  response.setHeader('Access-Control-Allow-Methods', METHODS);
  response.setHeader('Access-Control-Max-Age', '7200');
  response.setHeader('Vary', 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers');
  response.writeHead(204).end();
  return true;
}
