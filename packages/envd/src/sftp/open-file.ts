import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { followLinks, type LinkOwners } from '../filesystem/links.js';
import type { Owner } from '../filesystem/make-directories.js';
import { createFile, openOrCreate } from '../filesystem/open-or-create.js';

const READ = 1;
const WRITE = 2;
const APPEND = 4;
const CREATE = 8;
const TRUNCATE = 16;
const EXCLUSIVE = 32;

/** How a client opens a file, as its flags say. */
export interface OpenRequest {
  path: Buffer;
  flags: number;
  /** Of a new file, before the umask. */
  mode: number;
  owner: Owner;
  linkOwners: LinkOwners;
}

export function appends(flags: number): boolean {
  return (flags & APPEND) !== 0;
}

/**
 * Opens a regular file; a new one belongs to the user. @throws the system's error; Error for what is no regular file, which could
 * hold the daemon for ever
 */
export async function openFile({ flags, ...request }: OpenRequest): Promise<FileHandle> {
  const { O_NONBLOCK, O_APPEND } = constants;
  const access = accessOf(flags) | O_NONBLOCK | (appends(flags) ? O_APPEND : 0);
  const options = { ...request, flags: access };
  if (flags & CREATE && flags & EXCLUSIVE) return createFile(options);
  const file = await (flags & CREATE
    ? openOrCreate(options)
    : followLinks(request.path, request.linkOwners, (path) => open(path, access)));
  try {
    if (!(await file.stat()).isFile()) throw new Error('it is not a regular file');
    if (flags & TRUNCATE) await file.truncate(0);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

function accessOf(flags: number): number {
  const { O_RDONLY, O_WRONLY, O_RDWR } = constants;
  if (!(flags & (WRITE | APPEND))) return O_RDONLY;
  return flags & READ ? O_RDWR : O_WRONLY;
}
