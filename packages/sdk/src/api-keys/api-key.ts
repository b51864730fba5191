/** A key of a team, without the key itself. */
export interface ApiKey {
  /** The id that `delete` takes. */
  readonly apiKeyId: string;
  /** The purpose of the key. */
  readonly name: string;
  /** Enough of the key to recognise it, such as `svc_ab...01ef`. */
  readonly masked: string;
  readonly createdAt: Date;
  /** Exact to the minute; undefined when it was never used. */
  readonly lastUsedAt: Date | undefined;
  /** When it stops working, or did; undefined when it does not. */
  readonly expiresAt?: Date | undefined;
  /** Id of the key that it was rotated to, if it was. */
  readonly successorId?: string | undefined;
}

/** A key at the moment it was made. */
export interface CreatedApiKey extends ApiKey {
  /** The key itself. Shown this once: the service keeps only its hash. */
  readonly key: string;
}
