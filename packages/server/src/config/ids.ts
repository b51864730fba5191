import { randomBytes, randomUUID } from 'node:crypto';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** The source of new identifiers. Tests may give their own. */
export interface Ids {
  /** `i` and 20 characters of `[a-z0-9]`. */
  sandboxId(): string;
  /** 20 characters of `[a-z0-9]`. */
  templateId(): string;
  uuid(): string;
  /** Lower-case hex of that many random bytes. */
  hex(bytes: number): string;
}

export const randomIds: Ids = {
  sandboxId: () => `i${randomText(20)}`,
  templateId: () => randomText(20),
  uuid: () => randomUUID(),
  hex: (bytes) => randomBytes(bytes).toString('hex'),
};

function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      // 252 is the largest multiple of 36 below 256: above it, some characters would come up more often.
      if (byte < 252 && text.length < length) text += ALPHABET[byte % 36];
    }
  }
  return text;
}
