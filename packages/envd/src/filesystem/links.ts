import type { Stats } from 'node:fs';
import { lstat, readlink, realpath, stat } from 'node:fs/promises';
import type { EnvdContext, OsUser } from '../context.js';
import { errnoName } from './rpc-errors.js';

/**
 * Hosts keep root from following links that others made in directories like /tmp (`fs.protected_symlinks`). The daemon
 * is root, but acts for a user who may follow what is the user's own. So it goes step by step where the kernel refuses,
 * by the kernel's rule with that user in root's place: what a third account planted in /tmp is not followed.
 */

/** Accounts whose links in such directories are followed, by number. */
export type LinkOwners = ReadonlySet<number>;

const mostHops = 40;
const sharedDirectory = 0o1002;

/** Whose links are followed for a user: the user's own, and those of the account that the sandbox is for. */
export async function linkOwnersOf(context: EnvdContext, user: OsUser): Promise<LinkOwners> {
  const main = await context.users.find(context.defaults.user);
  return new Set([user.uid, ...(main ? [main.uid] : [])]);
}

/**
 * Does something to what a path leads to, links followed. `act` must change nothing when it fails with one of `hopOn`.
 *
 * @throws what `act` throws; ELOOP
 */
export async function followLinks<Path extends string | Buffer, T>(
  path: Path,
  owners: LinkOwners,
  act: (path: Path | Buffer) => Promise<T>,
  hopOn: readonly string[] = ['EACCES'],
): Promise<T> {
  let at: Path | Buffer = path;
  for (let hops = 0; hops < mostHops; hops++) {
    try {
      return await act(at);
    } catch (error) {
      if (!hopOn.includes(errnoName(error) ?? '')) throw error;
      const next = await nextHop(Buffer.from(at as Buffer), owners);
      if (next === undefined) throw error;
      at = next;
    }
  }
  throw Object.assign(new Error('too many symbolic links'), { code: 'ELOOP' });
}

/** Returns the facts of what a path leads to, no matter who made the links on the way: to look is allowed. @throws the system's error */
export async function statThroughLinks(path: string | Buffer): Promise<Stats> {
  try {
    return await stat(path);
  } catch (error) {
    if (errnoName(error) !== 'EACCES') throw error;
    return stat(await realpath(path, { encoding: 'buffer' }));
  }
}

/** Does something in a directory, or in one that a link leads to: no rule keeps root from entering that. */
export async function enterDirectory<T>(
  path: string | Buffer,
  act: (path: string | Buffer) => Promise<T>,
): Promise<T> {
  try {
    return await act(path);
  } catch (error) {
    if (errnoName(error) !== 'EACCES') throw error;
    // The rule is about the last part of a path.
    return act(Buffer.concat([Buffer.from(path as Buffer), Buffer.from('/.')]));
  }
}

/** Where a link leads; undefined for what is no link, or one that may not be followed. */
async function nextHop(path: Buffer, owners: LinkOwners): Promise<Buffer | undefined> {
  let end = path.length;
  while (end > 1 && path[end - 1] === 0x2f) end--;
  const link = path.subarray(0, end);
  const directory = link.subarray(0, link.lastIndexOf('/') + 1);
  const before = await lstat(link, { bigint: true }).catch(() => undefined);
  if (!before?.isSymbolicLink()) return undefined;
  const target = await readlink(link, { encoding: 'buffer' });
  const parent = await stat(Buffer.concat([directory, Buffer.from('.')]));
  const isShared = (parent.mode & sharedDirectory) === sharedDirectory;
  if (isShared && before.uid !== BigInt(parent.uid) && !owners.has(Number(before.uid))) return undefined;
  // Somebody else's may have taken its place between the two looks.
  const after = await lstat(link, { bigint: true }).catch(() => undefined);
  if (after?.ino !== before.ino || after.ctimeNs !== before.ctimeNs || after.dev !== before.dev)
    return undefined;
  return target[0] === 0x2f ? target : Buffer.concat([directory, target]);
}
