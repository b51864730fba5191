import { createHash, timingSafeEqual } from 'node:crypto';
import type { TokenStore } from '../token/token-store.js';
import { HttpFailure } from './http-failure.js';

export interface SignedRequest {
  operation: 'read' | 'write';
  /** `X-Access-Token`. */
  tokenHeader: string | undefined;
  /** The query as it came: `path`, `username`, `signature`, `signature_expiration`. */
  query: URLSearchParams;
  /** Milliseconds since 1970. */
  now: number;
}

/**
 * Lets a request for a file pass by token or by signature. A token header that is there decides alone.
 *
 * @throws HttpFailure 401; 400 for an expiration that is no number.
 */
export function checkFileAccess(token: TokenStore, request: SignedRequest): void {
  const secret = token.reveal();
  if (secret === undefined) return;
  const { query, tokenHeader } = request;
  if (tokenHeader !== undefined) {
    if (token.matches(tokenHeader)) return;
    throw new HttpFailure(401, 'invalid access token');
  }
  const expiration = parseExpiration(query.get('signature_expiration'));
  const signature = query.get('signature');
  if (!signature) throw new HttpFailure(401, 'missing access token or signature');
  const expected = signFileAccess({
    path: query.get('path') ?? '',
    operation: request.operation,
    username: query.get('username') ?? '',
    token: secret,
    expiration,
  });
  // A plus that was not escaped has become a space on its way through the query.
  if (!sameText(signature.replaceAll(' ', '+'), expected)) throw new HttpFailure(401, 'invalid signature');
  if (expiration !== undefined && Number(expiration) < Math.floor(request.now / 1000)) {
    throw new HttpFailure(401, 'signature has expired');
  }
}

/** The signature of one file and operation, as clients make it. `expiration`: Unix seconds as text. */
export function signFileAccess(parts: {
  path: string;
  operation: 'read' | 'write';
  username: string;
  token: string;
  expiration?: string | undefined;
}): string {
  const fields = [parts.path, parts.operation, parts.username, parts.token];
  if (parts.expiration !== undefined) fields.push(parts.expiration);
  return `v1_${createHash('sha256').update(fields.join(':')).digest('base64').replace(/=+$/, '')}`;
}

function parseExpiration(text: string | null): string | undefined {
  if (text === null || text === '') return undefined;
  if (!/^-?\d{1,18}$/.test(text))
    throw new HttpFailure(400, 'signature_expiration is not a number of seconds');
  return String(BigInt(text));
}

function sameText(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
