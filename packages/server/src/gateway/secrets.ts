import { createHash, timingSafeEqual } from 'node:crypto';

/** Compares two secrets in constant time. An absent one equals nothing. */
export function sameSecret(given: string | undefined, expected: string | undefined): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const same = timingSafeEqual(digest(given ?? ''), digest(expected ?? ''));
  return same && given !== undefined && expected !== undefined && expected !== '';
}
