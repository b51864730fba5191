import type { KeyRing } from '../keys/key-ring.js';

/** Id and version are part of the purpose: a ciphertext that is moved to another row is not decrypted there. */
export function encryptSecret(keys: KeyRing, secretId: string, version: number, value: string): string {
  return keys.encrypt(`secret:${secretId}:${version}`, value);
}
