import { createHash, timingSafeEqual } from 'node:crypto';

/** The sandbox's access token; none until /init gives one. */
export interface TokenStore {
  /** True once a token is set. */
  readonly required: boolean;
  /** Compares in constant time. True for any input while no token is set. */
  matches(candidate: string | undefined): boolean;
  /** The token itself, for signatures alone; undefined when none is set. */
  reveal(): string | undefined;
  set(token: string): void;
}

export function createTokenStore(): TokenStore {
  let current: string | undefined;
  return {
    get required() {
      return current !== undefined;
    },
    matches(candidate) {
      if (current === undefined) return true;
      return candidate !== undefined && timingSafeEqual(digest(candidate), digest(current));
    },
    reveal: () => current,
    set(token) {
      current = token;
    },
  };
}

// Digests have one length, which timingSafeEqual wants, and hide the token's.
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
