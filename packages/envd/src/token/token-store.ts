import { createHash, timingSafeEqual } from 'node:crypto';

/** The daemon's access token; none until /init gives one. */
export interface TokenStore {
  /** True once a token is set. */
  readonly required: boolean;
  /** Compares in constant time. True for any input while no token is set. */
  matches(candidate: string | undefined): boolean;
  /** Whether it is the token from before `replaceForImage`, which is taken until the next `set`. */
  matchesPrevious(candidate: string | undefined): boolean;
  /** The token itself, for signatures alone; undefined when none is set. */
  reveal(): string | undefined;
  set(token: string): void;
  /**
   * Sets a token that may be in a copy of this memory, because it opens nothing else. Of the token before only a digest
   * is kept.
   */
  replaceForImage(token: string): void;
}

export function createTokenStore(): TokenStore {
  let current: string | undefined;
  let previous: Buffer | undefined;
  const isPrevious = (candidate: string | undefined) =>
    previous !== undefined && candidate !== undefined && timingSafeEqual(digest(candidate), previous);
  return {
    get required() {
      return current !== undefined;
    },
    matches(candidate) {
      if (current === undefined) return true;
      if (candidate !== undefined && timingSafeEqual(digest(candidate), digest(current))) return true;
      return isPrevious(candidate);
    },
    matchesPrevious: isPrevious,
    reveal: () => current,
    set(token) {
      current = token;
      // Requests that were held came with the token before, and are looked at in this turn.
      setImmediate(() => {
        if (current === token) previous = undefined;
      });
    },
    replaceForImage(token) {
      previous ??= current === undefined ? undefined : digest(current);
      current = token;
    },
  };
}

// Digests have one length, as timingSafeEqual requires, and hide the length of the token.
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
