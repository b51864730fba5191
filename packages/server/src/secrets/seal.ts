import type { KeyRing } from '../keys/key-ring.js';

// Id and version are part of the purpose: a ciphertext that is moved to another row does not open there.
const purpose = (secretId: string, version: number) => `secret:${secretId}:${version}`;

export function sealSecret(keys: KeyRing, secretId: string, version: number, value: string): string {
  return keys.seal(purpose(secretId, version), value);
}

/** @throws {Error} when the row was sealed under another key or for another secret. */
export function openSecret(keys: KeyRing, secretId: string, version: number, sealed: string): string {
  return keys.open(purpose(secretId, version), sealed);
}
