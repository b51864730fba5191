import type { IncomingMessage } from 'node:http';

const OFFERS = new Set(['upgrade', 'http2-settings']);

/**
 * The head of a request again, without its offer to speak another protocol, which its receiver may ignore: of a request with
 * a body, as clients send them that would rather speak HTTP/2.
 */
export function withoutUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name, value] = [rawHeaders[at]!, rawHeaders[at + 1]!];
    const lower = name.toLowerCase();
    if (OFFERS.has(lower)) continue;
    if (lower !== 'connection') lines.push(`${name}: ${value}`);
    else {
      const kept = value.split(',').filter((token) => !OFFERS.has(token.trim().toLowerCase()));
      if (kept.length > 0) lines.push(`${name}: ${kept.join(',').trim()}`);
    }
  }
  return Buffer.from(`${method} ${url} HTTP/${httpVersion}\r\n${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}
