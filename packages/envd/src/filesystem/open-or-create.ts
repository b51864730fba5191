import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { followLinks, type LinkOwners } from './links.js';
import type { Owner } from './make-directories.js';
import { errnoName } from './rpc-errors.js';

const { O_CREAT, O_EXCL } = constants;

/** The file to open, and on whose behalf. */
export interface OpenOptions {
  path: string | Buffer;
  /** Without O_CREAT and O_EXCL. */
  flags: number;
  /** Of a new file, before the umask. */
  mode: number;
  /** Whom a new file belongs to. */
  owner: Owner;
  linkOwners: LinkOwners;
}

/**
 * Opens a file; where there is none, makes it. What a link to nothing leads to is made, too.
 *
 * A file that is there is never opened with O_CREAT: hosts refuse that to root for files and fifos of others in directories
 * like /tmp (`fs.protected_regular`, `fs.protected_fifos`).
 *
 * @throws the system's error
 */
export async function openOrCreate(options: OpenOptions): Promise<FileHandle> {
  const { path, flags, linkOwners } = options;
  const attempt = () =>
    followLinks(
      path,
      linkOwners,
      async (at) => {
        try {
          return await open(at, flags);
        } catch (error) {
          if (errnoName(error) !== 'ENOENT') throw error;
        }
        return createFile({ ...options, path: at });
      },
      ['EACCES', 'EEXIST'],
    );
  try {
    return await attempt();
  } catch (error) {
    // Somebody made it between the two calls.
    if (errnoName(error) !== 'EEXIST') throw error;
    return attempt();
  }
}

/** Makes a file where there is nothing. @throws the system's error, EEXIST for a link too */
export async function createFile(options: Omit<OpenOptions, 'linkOwners'>): Promise<FileHandle> {
  const { path, flags, mode, owner } = options;
  const file = await open(path, flags | O_CREAT | O_EXCL, mode);
  try {
    if (owner) await file.chown(owner.uid, owner.gid);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}
