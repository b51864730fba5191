import { errors } from '../../api/errors/catalog.js';

const MAX_NAME_BYTES = 128;
const MAX_VALUE_BYTES = 16_384;
const ID_PREFIX = 'sec_';

export type SecretSelector = { by: 'id'; id: string } | { by: 'name'; name: string };

/**
 * Brings a name into its canonical form: trimmed, lower case.
 * @throws {ApiError} 400 with the fixed text of secrets
 */
export function canonicalSecretName(text: string): string {
  const name = text.trim().toLowerCase();
  if (!/^[a-z0-9_-]+$/.test(name) || name.length > MAX_NAME_BYTES || name.startsWith(ID_PREFIX))
    throw errors.invalidSecretsRequest();
  return name;
}

/** Reads the `{secretID}` of a path. What starts with `sec_` is an id and never falls back to a name. */
export function parseSecretSelector(text: string): SecretSelector {
  const selector = text.trim().toLowerCase();
  if (!selector.startsWith(ID_PREFIX)) return { by: 'name', name: canonicalSecretName(selector) };
  if (!/^sec_[a-z2-7]{26}$/.test(selector)) throw errors.invalidSecretsRequest();
  return { by: 'id', id: selector };
}

/** @throws {ApiError} 400 when the value is empty or larger than 16 KiB of UTF-8 */
export function checkSecretValue(value: string): void {
  const bytes = Buffer.byteLength(value);
  if (bytes === 0 || bytes > MAX_VALUE_BYTES) throw errors.invalidSecretsRequest();
}

/** The limits count bytes, which a JSON Schema cannot. @throws {ApiError} 400 */
export function checkSecretMetadata(metadata: Record<string, string>): void {
  const entries = Object.entries(metadata);
  if (entries.length > 32) throw errors.invalidSecretsRequest();
  let total = 0;
  for (const [key, value] of entries) {
    const keyBytes = Buffer.byteLength(key);
    const valueBytes = Buffer.byteLength(value);
    if (keyBytes === 0 || keyBytes > 128 || valueBytes > 1024) throw errors.invalidSecretsRequest();
    total += keyBytes + valueBytes;
  }
  if (total > 8192) throw errors.invalidSecretsRequest();
}

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** A new id: `sec_` and 16 random bytes in base32. */
export function secretIdFromHex(hex32: string): string {
  let bits = BigInt(`0x${hex32}`) << 2n; // 128 bits padded to 26 groups of 5
  let text = '';
  for (let i = 0; i < 26; i++) {
    text = BASE32[Number(bits & 31n)] + text;
    bits >>= 5n;
  }
  return `${ID_PREFIX}${text}`;
}
