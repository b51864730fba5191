import type { Stats } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { InvalidRequestError } from '../../errors/answer-errors.js';
import type { Excludes, LocalEntry } from '../contract/local-files.js';

export async function find(path: string): Promise<LocalEntry | undefined> {
  try {
    return await describe(path, basename(path));
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

export async function* walk(
  root: string,
  excludes: Excludes,
  below = '',
): AsyncGenerator<LocalEntry, void, undefined> {
  const names = await readdir(join(root, below));
  for (const name of names.sort()) {
    const path = below === '' ? name : `${below}/${name}`;
    // An entry that vanishes during the walk was never there.
    const found = await find(join(root, path));
    if (!found && name.includes('\ufffd') && !excludes(path, 'file')) throw notUtf8(path);
    if (!found || excludes(path, found.type)) continue;
    const entry = { ...found, path };
    yield entry;
    if (entry.type === 'directory') yield* walk(root, excludes, path);
  }
}

/** Node reads the bytes of such a name as U+FFFD, by which nothing can be opened. */
function notUtf8(path: string): InvalidRequestError {
  return new InvalidRequestError(
    `${JSON.stringify(path)}: the name is not UTF-8. Rename it, or leave it out by an ignore rule.`,
  );
}

async function describe(absolute: string, path: string): Promise<LocalEntry | undefined> {
  const stats = await lstat(absolute);
  const type = typeOf(stats);
  if (!type) return undefined;
  return {
    path,
    type,
    sizeBytes: type === 'file' ? stats.size : 0,
    mode: stats.mode,
    modifiedAt: stats.mtime,
    target: type === 'symlink' ? await readlink(absolute) : undefined,
  };
}

function typeOf(stats: Stats): LocalEntry['type'] | undefined {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  return stats.isSymbolicLink() ? 'symlink' : undefined;
}
