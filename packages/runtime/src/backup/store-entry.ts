import { objectKinds } from '../contract/transfers.js';
import { isObjectId } from '../transfer/object-id.js';

/** The kinds of entries in a backup of a driver's storage, in the order of unpacking: an entry comes after those that it is based on. */
export const entryKinds = [...objectKinds, 'volume'] as const;

export type StoreEntryKind = (typeof entryKinds)[number];

/** One thing of the driver's storage, packed as one tar archive. */
export interface StoreEntry {
  kind: StoreEntryKind;
  /** Id, or name, without a slash. */
  id: string;
}

const VOLUME_ID = /^[a-z0-9-]{1,64}$/;

/** True if it can be an entry. The id is read from an archive and becomes part of a path. */
export function isStoreEntry(entry: { kind: string; id: string }): entry is StoreEntry {
  const kind = entryKinds.find((each) => each === entry.kind);
  if (kind === undefined) return false;
  return kind === 'volume' ? VOLUME_ID.test(entry.id) : isObjectId(kind, entry.id);
}

export function entryKey({ kind, id }: StoreEntry): string {
  return `${kind}/${id}`;
}
