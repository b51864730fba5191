import { type EncryptedJson, fromJson, type Json, toJson } from '../json.js';
import type { Database } from '../schema.js';
import type { KeyRing } from './key-ring.js';

/** Keys that the servers on one database share, by their row in `settings`. */
export const SETTINGS = { identityKeys: 'identity-keys', egressAuthority: 'egress-authority' } as const;

/** The place of a setting, and its encryption. */
export interface SettingPorts {
  db: Database;
  keys: KeyRing;
}

interface EncryptedSetting<T> {
  /** Undefined: it was never written. */
  value: T | undefined;
  /** The row that was read, for {@link writeSetting}. */
  version: string | undefined;
}

/** Reads what a server wrote there with the same server key. */
export async function openSetting<T>({ db, keys }: SettingPorts, name: string): Promise<EncryptedSetting<T>> {
  const row = await db.selectFrom('settings').select('value').where('key', '=', name).executeTakeFirst();
  if (row === undefined) return { value: undefined, version: undefined };
  return {
    value: decryptJson(keys, `setting:${name}`, row.value as EncryptedJson<T>),
    version: row.value,
  };
}

/**
 * Writes a setting encrypted, unless somebody else wrote it since it was read.
 * @param version what {@link openSetting} gave.
 * @returns false when somebody else was faster: read it again.
 */
export async function writeSetting<T>(
  { db, keys }: SettingPorts,
  name: string,
  next: T,
  version: string | undefined,
): Promise<boolean> {
  const value = encryptJson(keys, `setting:${name}`, next);
  if (version === undefined) {
    const { numInsertedOrUpdatedRows } = await db
      .insertInto('settings')
      .values({ key: name, value })
      .onConflict((conflict) => conflict.column('key').doNothing())
      .executeTakeFirstOrThrow();
    return numInsertedOrUpdatedRows === 1n;
  }
  const { numUpdatedRows } = await db
    .updateTable('settings')
    .set({ value })
    .where('key', '=', name)
    .where('value', '=', version)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

export function encryptJson<T>(keys: KeyRing, purpose: string, value: T): EncryptedJson<T> {
  return keys.encrypt(purpose, toJson(value)) as EncryptedJson<T>;
}

/** @throws {Error} when the text was not encrypted by this key for this purpose. */
export function decryptJson<T>(keys: KeyRing, purpose: string, text: EncryptedJson<T>): T {
  return fromJson(keys.decrypt(purpose, text) as Json<T>);
}
