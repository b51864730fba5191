import { isBuiltBase } from '../linux-driver/rootfs/base-name.js';

/** What a backup holds of a driver's storage, in the order in which it is unpacked: what stands on others comes after them. */
export const entryKinds = ['agent', 'base', 'layer', 'checkpoint', 'volume'] as const;

export type StoreEntryKind = (typeof entryKinds)[number];

/** One thing of the driver's storage, packed as one tar archive. */
export interface StoreEntry {
  kind: StoreEntryKind;
  /** Id, or name, without a slash. */
  id: string;
}

const IDS: Record<StoreEntryKind, (id: string) => boolean> = {
  agent: (id) => /^[a-z0-9]{8,64}$/.test(id),
  base: isBuiltBase,
  layer: (id) => /^[a-z0-9][a-z0-9-]{0,63}$/.test(id),
  checkpoint: (id) => /^[a-z0-9-]{1,64}$/.test(id),
  volume: (id) => /^[a-z0-9-]{1,64}$/.test(id),
};

/** Whether it can be one: what is read from an archive becomes part of paths. */
export function isStoreEntry(entry: { kind: string; id: string }): entry is StoreEntry {
  return Object.hasOwn(IDS, entry.kind) && IDS[entry.kind as StoreEntryKind](entry.id);
}

export function entryKey({ kind, id }: StoreEntry): string {
  return `${kind}/${id}`;
}
