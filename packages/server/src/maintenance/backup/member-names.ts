import { isStoreEntry, type StoreEntry } from '@svc/runtime';

/** What the server keeps. */
export const SERVER_MEMBER = 'server.tar.gz';

export function storeMember({ kind, id }: StoreEntry): string {
  return `store/${kind}/${id}.tar.gz`;
}

/** Which part of the store a member is; undefined for every other name. */
export function parseStoreMember(name: string): StoreEntry | undefined {
  const [, kind, id] = /^store\/([a-z]+)\/([a-z0-9-]+)\.tar\.gz$/.exec(name) ?? [];
  const entry = { kind: kind ?? '', id: id ?? '' };
  return isStoreEntry(entry) ? entry : undefined;
}
