import type { IncomingMessage } from 'node:http';

/** A request's target in origin form and the host it names. */
export interface RequestLine {
  url: string;
  host: string | undefined;
}

function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() === name) values.push(rawHeaders[i + 1] ?? '');
  }
  return values;
}

/**
 * Reads the request target and host, and refuses framing on which two servers could disagree: several hosts or
 * lengths, a length beside a transfer coding, a coding other than `chunked`. Node's parser refuses most of these first.
 */
export function readRequestLine(req: IncomingMessage): RequestLine | 'bad_request' | 'invalid_host' {
  const hosts = valuesOf(req.rawHeaders, 'host');
  if (hosts.length > 1) return 'invalid_host';
  const codings = valuesOf(req.rawHeaders, 'transfer-encoding');
  const lengths = valuesOf(req.rawHeaders, 'content-length');
  if (codings.length + lengths.length > 1) return 'bad_request';
  if (codings.length === 1 && codings[0]?.trim().toLowerCase() !== 'chunked') return 'bad_request';
  if (lengths.length === 1 && !/^\d+$/.test(lengths[0]?.trim() ?? '')) return 'bad_request';

  const url = req.url ?? '';
  if (url.startsWith('/') || (url === '*' && req.method === 'OPTIONS')) return { url, host: hosts[0] };
  const absolute = /^https?:\/\/([^/?#@\\]+)(.*)$/is.exec(url);
  if (!absolute) return 'bad_request';
  const rest = absolute[2] ?? '';
  return { url: rest.startsWith('/') ? rest : `/${rest}`, host: absolute[1] };
}

/** Returns whether the request carries a body (`Content-Length: 0` is none). */
export function hasBody(req: IncomingMessage): boolean {
  if (req.headers['transfer-encoding'] !== undefined) return true;
  return Number(req.headers['content-length'] ?? 0) > 0;
}

/** A preflight asks on behalf of a page whether the real request is allowed. A plain OPTIONS is an ordinary request. */
export function isPreflight(req: IncomingMessage): boolean {
  return req.method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined;
}
