import type { BigIntStats } from 'node:fs';
import { lstat, realpath } from 'node:fs/promises';
import { posix } from 'node:path';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type EntryInfo, EntryInfoSchema, FileType } from '@svc/daemon/gen';
import type { OwnerNames } from '../users/index.js';
import { formatPermissions } from './permissions.js';

/** What describing entries needs besides the tree itself. Make one per call. */
export interface EntryReader {
  names: OwnerNames;
  /** Metadata of a regular file; undefined when it has none. Must not fail. */
  readMetadata(path: string): Record<string, string> | undefined;
}

/**
 * Describes one entry without following a link at its end.
 *
 * @throws the system's error when the path cannot be looked up.
 * @wire EntryInfo
 */
export async function readEntryInfo(path: string, reader: EntryReader): Promise<EntryInfo> {
  const stats = await lstat(path, { bigint: true });
  const own = {
    name: entryName(path),
    path,
    size: stats.size,
    permissions: formatPermissions(Number(stats.mode)),
    owner: reader.names.user(Number(stats.uid)),
    group: reader.names.group(Number(stats.gid)),
    modifiedTime: timestamp(stats.mtimeNs),
  } satisfies MessageInitShape<typeof EntryInfoSchema>;
  if (stats.isSymbolicLink()) return create(EntryInfoSchema, { ...own, ...(await readTarget(path, stats)) });
  const metadata = stats.isFile() ? reader.readMetadata(path) : undefined;
  return create(EntryInfoSchema, {
    ...own,
    type: fileType(stats),
    mode: permissionBits(stats),
    ...(metadata ? { metadata } : {}),
  });
}

/** Where a link leads decides type and mode; one that leads nowhere points at itself. */
async function readTarget(path: string, link: BigIntStats) {
  try {
    // Found by reading links, not by following them: that may be refused to root.
    const target = await realpath(path);
    const stats = await lstat(target, { bigint: true });
    return { type: fileType(stats), mode: permissionBits(stats), symlinkTarget: target };
  } catch {
    return { type: FileType.UNSPECIFIED, mode: permissionBits(link), symlinkTarget: path };
  }
}

/** The last name of a path; of one that ends with `..`, the name of what that leads to. */
export function entryName(path: string): string {
  return posix.basename(posix.normalize(path)) || '/';
}

function fileType(stats: BigIntStats): FileType {
  if (stats.isFile()) return FileType.FILE;
  if (stats.isDirectory()) return FileType.DIRECTORY;
  return FileType.UNSPECIFIED;
}

function permissionBits(stats: BigIntStats): number {
  return Number(stats.mode & 0o777n);
}

function timestamp(nanoseconds: bigint): { seconds: bigint; nanos: number } {
  const second = 1_000_000_000n;
  const nanos = ((nanoseconds % second) + second) % second;
  return { seconds: (nanoseconds - nanos) / second, nanos: Number(nanos) };
}
