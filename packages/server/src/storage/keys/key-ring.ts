import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

/** Derives a key for each purpose from the server's one root key. */
export interface KeyRing {
  /** Encrypts text (AES-256-GCM). `purpose` names key and use: what was encrypted for one is decrypted for no other. */
  encrypt(purpose: string, text: string): string;
  /** @throws {Error} when the text was not encrypted by this key for this purpose. */
  decrypt(purpose: string, ciphertext: string): string;
  /** Lower-case hex HMAC-SHA-256. */
  sign(purpose: string, text: string): string;
  /** A 32-byte key of its own. */
  derive(purpose: string): Buffer;
}

/** @param root 32 bytes, at least. */
export function createKeyRing(root: Buffer): KeyRing {
  if (root.length < 32) throw new Error('the server key must have 32 bytes');
  const cache = new Map<string, Buffer>();
  const derive = (purpose: string): Buffer => {
    let key = cache.get(purpose);
    if (key === undefined) {
      key = Buffer.from(hkdfSync('sha256', root, 'svc-server', purpose, 32));
      cache.set(purpose, key);
    }
    return key;
  };
  return {
    derive,
    // The keys of what is stored are derived from `seal:`.
    encrypt(purpose, text) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', derive(`seal:${purpose}`), nonce);
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url');
    },
    decrypt(purpose, ciphertext) {
      const bytes = Buffer.from(ciphertext, 'base64url');
      if (bytes.length < 28) throw new Error('not an encrypted text');
      const decipher = createDecipheriv('aes-256-gcm', derive(`seal:${purpose}`), bytes.subarray(0, 12));
      decipher.setAuthTag(bytes.subarray(12, 28));
      return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8');
    },
    sign(purpose, text) {
      return createHmac('sha256', derive(`sign:${purpose}`))
        .update(text)
        .digest('hex');
    },
  };
}
