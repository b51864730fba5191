/** A key to make. */
export interface NewKey {
  name: string;
  /** Ms since the epoch; undefined: never. */
  expiresAtMs?: number | undefined;
}
