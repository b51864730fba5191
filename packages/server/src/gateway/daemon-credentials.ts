import { createHash } from 'node:crypto';
import type { DaemonCredentials } from './contract.js';
import { sameSecret } from './secrets.js';

/** Replaces a credential that is not the daemon's: the daemon must not learn those of others. */
const WRONG = 'wrong';

/** Header values of `X-Access-Token` for the daemon: the client's token becomes the daemon's own. */
export function ownTokenFor(given: string, { clientToken, ownToken }: DaemonCredentials): string {
  return sameSecret(given, clientToken) ? ownToken : WRONG;
}

/**
 * The request target for the daemon: a signature that was made with the client's token is made anew with the daemon's
 * own. Everything else stays byte for byte, so that the daemon still decides about user, path and expiry.
 */
export function resignedUrl(method: string, url: string, credentials: DaemonCredentials): string {
  const start = url.indexOf('?');
  if (start === -1) return url;
  const text = url.slice(start + 1);
  if (!/signature|%/i.test(text)) return url;
  const query = new URLSearchParams(text);
  const given = query.get('signature');
  if (given === null) return url;
  const sign = (token: string) => signatureOf(method === 'POST' ? 'write' : 'read', query, token);
  // A plus that was not escaped has become a space on its way through the query.
  const valid = sameSecret(given.replaceAll(' ', '+'), sign(credentials.clientToken));
  const own = encodeURIComponent(valid ? sign(credentials.ownToken) : WRONG);
  const pairs = text.split('&').map((pair) => (nameOf(pair) === 'signature' ? `signature=${own}` : pair));
  return `${url.slice(0, start)}?${pairs.join('&')}`;
}

/** As `spec/daemon.yaml` has it. */
function signatureOf(operation: 'read' | 'write', query: URLSearchParams, token: string): string {
  const fields = [query.get('path') ?? '', operation, query.get('username') ?? '', token];
  const expiration = query.get('signature_expiration');
  if (expiration) fields.push(/^-?\d{1,18}$/.test(expiration) ? String(BigInt(expiration)) : expiration);
  return `v1_${createHash('sha256').update(fields.join(':')).digest('base64').replace(/=+$/, '')}`;
}

function nameOf(pair: string): string | undefined {
  return new URLSearchParams(pair).keys().next().value;
}
