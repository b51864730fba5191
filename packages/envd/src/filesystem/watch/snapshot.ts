import { lstatSync } from 'node:fs';

/** What is remembered of an entry, to tell later what has changed. */
export interface Snapshot {
  /** Inode and birth: an inode number alone is used again after a removal. */
  id: string;
  directory: boolean;
  size: bigint;
  mtime: bigint;
  ctime: bigint;
  /** Mode bits, user and group. */
  access: string;
  /** The content was there already when the entry was first seen: its write is still to be reported. */
  unreportedContent: boolean;
}

/** Looks at an entry without following a link; undefined when it is not there. */
export function takeSnapshot(path: string): Snapshot | undefined {
  try {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (!stats) return undefined;
    return {
      id: `${stats.dev}:${stats.ino}:${stats.birthtimeNs}`,
      directory: stats.isDirectory(),
      size: stats.size,
      mtime: stats.mtimeNs,
      ctime: stats.ctimeNs,
      access: `${stats.mode}:${stats.uid}:${stats.gid}`,
      unreportedContent: false,
    };
  } catch {
    return undefined;
  }
}
