import { type EncryptedJson, fromJson, type Json, toJson } from '../json.js';
import type { KeyRing } from './key-ring.js';

export function encryptJson<T>(keys: KeyRing, purpose: string, value: T): EncryptedJson<T> {
  return keys.encrypt(purpose, toJson(value)) as EncryptedJson<T>;
}

/** @throws {Error} when the text was not encrypted by this key for this purpose. */
export function decryptJson<T>(keys: KeyRing, purpose: string, text: EncryptedJson<T>): T {
  return fromJson(keys.decrypt(purpose, text) as Json<T>);
}
