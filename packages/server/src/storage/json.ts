declare const shape: unique symbol;

/** The text of a column that holds JSON. Only {@link toJson} makes one, so that what is read has the shape that was written. */
export type Json<T> = string & { readonly [shape]: T };

/** The encrypted text of JSON. */
export type EncryptedJson<T> = string & { readonly [shape]: { encrypted: T } };

/** @param value without what JSON drops or changes: functions, dates, undefined in lists. */
export function toJson<T>(value: T): Json<T> {
  return JSON.stringify(value) as Json<T>;
}

export function fromJson<T>(text: Json<T>): T {
  return JSON.parse(text) as T;
}
