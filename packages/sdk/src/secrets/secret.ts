/** Facts about a secret. Its value is part of no answer. */
export interface Secret {
  /** `sec_` and 26 characters. */
  readonly secretId: string;
  /** Lower case, unique within the team. */
  readonly name: string;
  /** Version that is served. */
  readonly currentVersion: number;
  /** Empty when there is none. */
  readonly metadata: Record<string, string>;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A secret to create. */
export interface NewSecret {
  /** 1 to 128 letters, digits, `_` or `-`; stored in lower case; must not start with `sec_`. */
  name: string;
  /** 1 byte to 16 KiB. Stored encrypted, never returned. */
  value: string;
  /** At most 32 pairs; keys of up to 128 bytes, values of up to 1024, 8192 bytes together. */
  metadata?: Record<string, string> | undefined;
}
