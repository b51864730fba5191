import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { Owner } from '../filesystem/make-directories.js';
import { errnoName } from '../filesystem/rpc-errors.js';

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
}

export function appends(flags: number): boolean {
  return (flags & APPEND) !== 0;
}

/**
 * Opens a regular file; a new one belongs to the user. @throws the system's error; Error for what is no regular file, which could
 * hold the daemon for ever
 */
export async function openFile({ path, flags, mode, owner }: OpenRequest): Promise<FileHandle> {
  const { O_CREAT, O_EXCL, O_NONBLOCK, O_APPEND } = constants;
  const access = accessOf(flags) | O_NONBLOCK | (appends(flags) ? O_APPEND : 0);
  const create = async (more: number) => {
    const file = await open(path, access | O_CREAT | more, mode);
    if (owner) await file.chown(owner.uid, owner.gid);
    return file;
  };
  if (flags & CREATE) {
    try {
      return await create(O_EXCL);
    } catch (error) {
      if (errnoName(error) !== 'EEXIST' || flags & EXCLUSIVE) throw error;
    }
  }
  const file = await open(path, access).catch((error) => {
    // A link to nothing: what it leads to is made.
    if (flags & CREATE && errnoName(error) === 'ENOENT') return create(0);
    throw error;
  });
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
