import { chmod, lchown, mkdir } from 'node:fs/promises';
import { posix } from 'node:path';
import { statThroughLinks } from './links.js';
import { errnoName } from './rpc-errors.js';

/** Who owns what is made. Undefined where the daemon has one user only. */
export type Owner = { uid: number; gid: number } | undefined;

/**
 * Makes a directory and its missing parents, mode 0755, all of them owned by the owner. Idempotent.
 *
 * @throws the system's error; ENOTDIR or EEXIST where something on the way is no directory.
 */
export async function makeDirectories(path: string, owner: Owner): Promise<void> {
  if (await isDirectory(path)) return;
  const parent = posix.dirname(path);
  if (parent !== path) await makeDirectories(parent, owner);
  try {
    await mkdir(path, 0o755);
  } catch (error) {
    // Somebody else may have made it meanwhile; `a/.` exists as soon as `a` does.
    if (errnoName(error) === 'EEXIST' && (await isDirectory(path))) return;
    throw error;
  }
  // The daemon's umask may have taken bits away.
  await chmod(path, 0o755);
  if (owner) await lchown(path, owner.uid, owner.gid);
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await statThroughLinks(path)).isDirectory();
  } catch (error) {
    if (errnoName(error) === 'ENOENT') return false;
    throw error;
  }
}
