import type { IncomingMessage } from 'node:http';
import { withoutLinkCookies, withoutLinks } from './link-carriers.js';

/** Headers that belong to one connection, not to the message. */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

/** Headers without which the message cannot be read: naming them in `Connection` does not remove them. */
const unremovable = new Set(['host', 'content-length', 'content-type', 'authorization', 'x-access-token']);

function namedByConnection(rawHeaders: readonly string[]): Set<string> {
  const named = new Set<string>();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() !== 'connection') continue;
    for (const token of (rawHeaders[i + 1] ?? '').split(',')) {
      const name = token.trim().toLowerCase();
      if (!unremovable.has(name)) named.add(name);
    }
  }
  return named;
}

/** @param keep the value that is passed on; undefined: the header is left out */
function endToEnd(
  rawHeaders: readonly string[],
  keep: (name: string, value: string) => string | undefined,
): string[] {
  const named = namedByConnection(rawHeaders);
  const kept: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase();
    if (hopByHop.has(name) || named.has(name)) continue;
    const value = keep(name, rawHeaders[i + 1] ?? '');
    if (value !== undefined) kept.push(rawHeaders[i] ?? '', value);
  }
  return kept;
}

export interface RequestHeaderOptions {
  /** Host that the client asked for. */
  host: string | undefined;
  /** Host that the service is shown instead; the client's is then sent as `X-Forwarded-Host`. */
  maskedHost: string | undefined;
  /** Lower-case names that must not reach the sandbox. */
  secretNames: ReadonlySet<string>;
  /** Returns the value that the sandbox gets for an `X-Access-Token`; undefined: the header is left out. */
  accessToken: (given: string) => string | undefined;
  /** True when the gateway itself negotiates `Expect: 100-continue` with the sandbox. */
  expectContinue: boolean;
  /** Value of the Upgrade header when the connection is to be upgraded. */
  upgrade?: string;
}

/** The header list sent into the sandbox: the client's, in its order and case, minus what belongs to its connection. */
export function requestHeaders(req: IncomingMessage, options: RequestHeaderOptions): string[] {
  const { host, maskedHost, secretNames, expectContinue, upgrade } = options;
  const masked = maskedHost !== undefined;
  const headers = endToEnd(req.rawHeaders, (name, value) => {
    if (name === 'host' || name === 'x-access-token' || secretNames.has(name)) return undefined;
    if (name === 'expect') return expectContinue ? value : undefined;
    if (name === 'cookie') return withoutLinkCookies(value);
    if (name === 'referer') return withoutLinks(value);
    return masked && name === 'x-forwarded-host' ? undefined : value;
  });
  headers.unshift('Host', maskedHost ?? host ?? '');
  const given = req.headers['x-access-token']?.toString();
  const shown = given === undefined ? undefined : options.accessToken(given);
  if (shown !== undefined) headers.push('X-Access-Token', shown);
  if (masked && host !== undefined) headers.push('X-Forwarded-Host', host);
  if (/(?:^|,)\s*trailers\s*(?:,|$)/i.test(req.headers.te?.toString() ?? '')) headers.push('TE', 'trailers');
  if (upgrade !== undefined) headers.push('Connection', 'Upgrade', 'Upgrade', upgrade);
  else if (req.headers['transfer-encoding'] !== undefined) headers.push('Transfer-Encoding', 'chunked');
  else if (req.headers['content-length'] === undefined && /^(?:POST|PUT|PATCH)$/.test(req.method ?? '')) {
    headers.push('Content-Length', '0');
  }
  return headers;
}

/** The header list sent to the client: the sandbox's, minus what belongs to its connection. */
export function responseHeaders(up: IncomingMessage): string[] {
  return endToEnd(up.rawHeaders, (_name, value) => value);
}
