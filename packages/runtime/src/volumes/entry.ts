import { type FileHandle, lstat, readlink } from 'node:fs/promises';
import type { VolumeEntry } from '../contract/volumes.js';
import { pathOf } from './resolve-in-root.js';

/** The facts of one entry, a link not followed. `shownPath` is its path inside the volume. */
export async function statEntry(
  directory: FileHandle,
  name: string | undefined,
  shownPath: string,
): Promise<VolumeEntry> {
  const location = pathOf(directory, name);
  const stat = await lstat(location);
  const type = stat.isFile()
    ? 'file'
    : stat.isDirectory()
      ? 'directory'
      : stat.isSymbolicLink()
        ? 'symlink'
        : 'unknown';
  return {
    name: name ?? '/',
    type,
    path: shownPath,
    size: stat.size,
    mode: stat.mode & 0o7777,
    uid: stat.uid,
    gid: stat.gid,
    atimeMs: stat.atimeMs,
    mtimeMs: stat.mtimeMs,
    ctimeMs: stat.ctimeMs,
    ...(type === 'symlink' ? { target: await readlink(location) } : {}),
  };
}

/** Brings a path into the form that answers show: absolute, without `.`, `..` and doubled slashes. */
export function shownPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}
