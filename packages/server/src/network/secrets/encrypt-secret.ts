import type { KeyRing } from '../../storage/keys/key-ring.js';

const purposeOf = (secretId: string, version: number) => `secret:${secretId}:${version}`;

/** Id and version are part of the purpose: a ciphertext that is moved to another row is not decrypted there. */
export function encryptSecret(keys: KeyRing, secretId: string, version: number, value: string): string {
  return keys.encrypt(purposeOf(secretId, version), value);
}

/** @throws {Error} when the text was not encrypted by this key for this version of this secret. */
export function decryptSecret(keys: KeyRing, secretId: string, version: number, ciphertext: string): string {
  return keys.decrypt(purposeOf(secretId, version), ciphertext);
}
