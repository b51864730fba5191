import type { JWK } from 'jose';

/** One key pair that signs identity tokens. */
export interface SigningKey {
  /** RFC 7638 thumbprint of the public key. */
  kid: string;
  /** Private and public part. */
  jwk: JWK;
  createdAtMs: number;
}

export interface RotationTimes {
  /** Age at which a key gets a successor, ms. */
  rotateAfterMs: number;
  /**
   * Time for which a key is published before it signs, and after its successor took over, ms: longer than relying
   * parties keep a key set.
   */
  overlapMs: number;
}

export interface KeyPlan {
  /** Signs now; undefined when there is no key yet. */
  signing: SigningKey | undefined;
  /** The keys that relying parties get, newest first. */
  published: SigningKey[];
  /** True when a new key has to be made. */
  due: boolean;
}

/** Assigns the keys their roles at a moment. */
export function planKeys(keys: readonly SigningKey[], nowMs: number, times: RotationTimes): KeyPlan {
  const newestFirst = keys.toSorted((a, b) => b.createdAtMs - a.createdAtMs);
  // The first key of all signs at once: nobody can have cached a set without it.
  const at = newestFirst.findIndex((key) => key.createdAtMs + times.overlapMs <= nowMs);
  const signingAt = at < 0 ? newestFirst.length - 1 : at;
  const signing = newestFirst[signingAt];
  const published = newestFirst.filter((_key, index) => {
    if (index <= signingAt) return true;
    const successor = newestFirst[index - 1]!;
    return nowMs < successor.createdAtMs + 2 * times.overlapMs;
  });
  const newest = newestFirst[0];
  return {
    signing,
    published,
    due: newest === undefined || nowMs >= newest.createdAtMs + times.rotateAfterMs,
  };
}
