import { constants } from 'node:fs';
import { type FileHandle, open, readlink } from 'node:fs/promises';
import { volumeErrors } from './errors.js';

// Programs in a sandbox change the same tree while we walk it, and may put a link where a directory was. So every step
// opens one name below a directory that is held open, and never follows a link: what a link says is walked by us, with
// the volume's root as `/`. (Linux has openat2 for this; Node does not offer it.)

/** Opens for naming only: neither reads nor writes, and never waits. */
export const O_PATH = 0o10000000;
const DIRECTORY = constants.O_DIRECTORY | constants.O_NOFOLLOW | O_PATH;
const MAX_LINKS = 40;
/** Directories that one walk opens, links and ways back included: the process that walks does it for everybody. */
const MAX_OPENED = 512;
/** As long as the kernel takes one. */
const MAX_PATH_BYTES = 4_096;

/** A directory that is held open, and a name in it. The name may not exist. */
export interface Place {
  directory: FileHandle;
  /** Undefined: the volume's root itself. */
  name: string | undefined;
}

/** A path that names `name` in `directory` without any way round. */
export function pathOf(directory: FileHandle, name?: string): string {
  return name === undefined ? `/proc/self/fd/${directory.fd}/.` : `/proc/self/fd/${directory.fd}/${name}`;
}

/** Cuts a path into its names; `.` and empty ones vanish. */
export function splitPath(path: string): string[] {
  if (path.includes('\0')) throw volumeErrors.invalidRequest('a path cannot contain a zero byte');
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw volumeErrors.pathTooLong();
  return path.split('/').filter((part) => part !== '' && part !== '.');
}

export interface WalkOptions {
  /** Follow a link at the end of the path too. */
  followLast?: boolean;
  /** Called where a directory on the way is missing; makes it, or throws. */
  onMissing?: (directory: FileHandle, name: string) => Promise<void>;
}

/**
 * Finds the last directory of a path below `root` and holds it open for `use`. `..` at the root stays there.
 * @throws {VolumeContentError} path_not_found, not_a_directory, invalid_request (links in a circle, a path too long or too deep)
 */
export async function walk<T>(
  root: string,
  path: string,
  options: WalkOptions,
  use: (place: Place) => Promise<T>,
): Promise<T> {
  // Where the walk stands, and how it came there from the root. Only the two are held open, however deep it goes.
  const top = await open(root, DIRECTORY);
  let here = top;
  let names: string[] = [];
  let opened = 0;
  const goTo = async (next: FileHandle) => {
    if (here !== top) await here.close();
    here = next;
  };
  const goDown = async (name: string, down: Pick<WalkOptions, 'onMissing'>) => {
    opened += 1;
    if (opened > MAX_OPENED) throw volumeErrors.pathTooDeep(MAX_OPENED);
    await goTo(await enter(here, name, path, down));
  };
  try {
    let todo = splitPath(path);
    let links = 0;
    for (;;) {
      const name = todo.shift();
      if (name === undefined) return await use({ directory: here, name: undefined });
      if (name === '..') {
        names = names.slice(0, -1);
        await goTo(top);
        for (const each of names) await goDown(each, {});
        continue;
      }
      const last = todo.length === 0;
      if (last && options.followLast !== true) return await use({ directory: here, name });
      const target = await readLink(here, name);
      if (target !== undefined) {
        if (++links > MAX_LINKS) throw volumeErrors.tooManyLinks(path);
        if (target.startsWith('/')) {
          names = [];
          await goTo(top);
        }
        todo = [...splitPath(target), ...todo];
        continue;
      }
      if (last) return await use({ directory: here, name });
      await goDown(name, options);
      names.push(name);
    }
  } finally {
    await goTo(top).catch(() => {});
    await top.close().catch(() => {});
  }
}

/** Opens a directory below one that is held open. */
export function openDirectory(directory: FileHandle, name: string): Promise<FileHandle> {
  return open(pathOf(directory, name), DIRECTORY);
}

async function enter(
  here: FileHandle,
  name: string,
  path: string,
  options: WalkOptions,
): Promise<FileHandle> {
  try {
    return await openDirectory(here, name);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT') {
      if (options.onMissing === undefined) throw volumeErrors.pathNotFound(path);
      await options.onMissing(here, name);
      return openDirectory(here, name);
    }
    if (code === 'ENOTDIR' || code === 'ELOOP') throw volumeErrors.notADirectory(path);
    throw error;
  }
}

async function readLink(directory: FileHandle, name: string): Promise<string | undefined> {
  try {
    return await readlink(pathOf(directory, name));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EINVAL' || code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}
