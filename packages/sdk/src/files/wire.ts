import type { EntryInfo, FilesystemEvent } from '@svc/daemon';
import { entryName, relativeName } from '../untrusted/entry-name.js';
import type { FileEntry, WatchEvent, WrittenFile } from './entry.js';

// The numbers of the wire's enums: naming the enums themselves would load the daemon client with this module.
const fileTypes: Record<number, FileEntry['type']> = { 1: 'file', 2: 'directory' };
const eventTypes: Record<number, WatchEvent['type']> = {
  1: 'create',
  2: 'write',
  3: 'remove',
  4: 'rename',
  5: 'chmod',
};

/** One entry. */
export function fromEntry(entry: EntryInfo): FileEntry {
  const { seconds = 0n, nanos = 0 } = entry.modifiedTime ?? {};
  return {
    name: entryName(entry.name, entry.path),
    path: entry.path,
    type: fileTypes[entry.type] ?? 'unknown',
    sizeBytes: Number(entry.size),
    mode: entry.mode,
    permissions: entry.permissions,
    owner: entry.owner,
    group: entry.group,
    modifiedAt: new Date(Number(seconds) * 1000 + Math.floor(nanos / 1e6)),
    symlinkTarget: entry.symlinkTarget,
    metadata: { ...entry.metadata },
  };
}

/** One change; undefined for kinds that are not known yet. */
export function fromWatchEvent(event: FilesystemEvent): WatchEvent | undefined {
  const type = eventTypes[event.type];
  return type && { type, name: relativeName(event.name), entry: event.entry && fromEntry(event.entry) };
}

/** The answer to an upload. */
export function fromWritten(answer: unknown): WrittenFile[] {
  const list = Array.isArray(answer)
    ? (answer as { name: string; path: string; metadata?: Record<string, string> }[])
    : [];
  return list.map(({ name, path, metadata }) => ({
    name: entryName(name, path),
    path,
    type: 'file',
    metadata: metadata ?? {},
  }));
}

/** Headers that carry metadata. */
export function metadataHeaders(metadata: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`X-Metadata-${key}`, value]));
}
