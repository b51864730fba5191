import { createHash } from 'node:crypto';
import type { ApiKeyMask } from '../../storage/json-shapes.js';

export const API_KEY_PREFIX = 'svc_';

/** The stored form of a key: lower-case hex SHA-256 over the decoded bytes. Undefined: not the form of a key. */
export function hashApiKey(key: string): string | undefined {
  if (!key.startsWith(API_KEY_PREFIX)) return undefined;
  const body = key.slice(API_KEY_PREFIX.length);
  if (body.length === 0 || body.length % 2 !== 0 || body.length > 256 || !/^[0-9a-f]+$/i.test(body))
    return undefined;
  return createHash('sha256').update(Buffer.from(body, 'hex')).digest('hex');
}

/** Enough of a key to recognise it. */
export function maskApiKey(key: string): ApiKeyMask {
  const body = key.slice(API_KEY_PREFIX.length);
  return {
    prefix: API_KEY_PREFIX,
    valueLength: body.length,
    maskedValuePrefix: body.slice(0, 2),
    maskedValueSuffix: body.slice(-4),
  };
}
