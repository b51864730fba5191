import { readdir } from 'node:fs/promises';
import { posix } from 'node:path';
import { type EntryInfo, FileType } from '@svc/daemon/gen';
import { type EntryReader, readEntryInfo } from './entry-info.js';
import { enterDirectory, statThroughLinks } from './links.js';
import { errnoName } from './rpc-errors.js';

/** Entries looked up at the same time: enough to keep the thread pool busy. */
const BATCH = 32;

export interface ListOptions {
  path: string;
  /** Levels below the directory, at least 1. */
  depth: number;
  reader: EntryReader;
  signal: AbortSignal;
}

/**
 * Lists a directory, depth first in lexical order, itself not included. A link to a directory is followed at the root
 * alone. What vanishes during the walk is left out, and so is the content of directories that cannot be read.
 *
 * @throws the system's error for the root: ENOENT, ENOTDIR, ELOOP.
 */
export async function listDirectory(options: ListOptions): Promise<EntryInfo[]> {
  if (!(await statThroughLinks(options.path)).isDirectory()) {
    throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' });
  }
  const entries: EntryInfo[] = [];
  await walk(options.path, options.depth, options, entries);
  return entries;
}

async function walk(
  directory: string,
  depth: number,
  options: ListOptions,
  into: EntryInfo[],
): Promise<void> {
  const names = (await enterDirectory(directory, (at) => readdir(at))).sort(compareNames);
  for (let start = 0; start < names.length; start += BATCH) {
    options.signal.throwIfAborted();
    const found = await Promise.all(
      names
        .slice(start, start + BATCH)
        .map((name) => readIfThere(posix.join(directory, name), options.reader)),
    );
    for (const entry of found) {
      if (!entry) continue;
      into.push(entry);
      if (depth > 1 && isRealDirectory(entry)) await walkIfThere(entry.path, depth - 1, options, into);
    }
  }
}

async function walkIfThere(
  directory: string,
  depth: number,
  options: ListOptions,
  into: EntryInfo[],
): Promise<void> {
  try {
    await walk(directory, depth, options, into);
  } catch (error) {
    if (!isVanished(error) && errnoName(error) !== 'EACCES') throw error;
  }
}

async function readIfThere(path: string, reader: EntryReader): Promise<EntryInfo | undefined> {
  try {
    return await readEntryInfo(path, reader);
  } catch (error) {
    if (isVanished(error)) return undefined;
    throw error;
  }
}

function isRealDirectory(entry: EntryInfo): boolean {
  return entry.type === FileType.DIRECTORY && entry.symlinkTarget === undefined;
}

function isVanished(error: unknown): boolean {
  const name = errnoName(error);
  return name === 'ENOENT' || name === 'ENOTDIR';
}

/** Order of the UTF-8 bytes. It differs from that of UTF-16 units for surrogates alone. */
function compareNames(a: string, b: string): number {
  if (/[\ud800-\udfff]/.test(a + b)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : a > b ? 1 : 0;
}
