import { realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Code, ConnectError } from '@connectrpc/connect';
import type { OsUser } from '../context.js';

/**
 * The directory that a program starts in, absolute. Empty: the sandbox's default, else the home.
 *
 * Looks without leaving this turn of the loop: starting the program enters the directory in the same way, and each hop
 * to another thread and back costs more than all of this.
 *
 * @throws ConnectError `invalid_argument` when it is missing, no directory, or closed to the account.
 */
export function resolveDirectory(
  requested: string | undefined,
  fallback: string | undefined,
  user: OsUser,
  singleUser: boolean,
): string {
  const wanted = requested || fallback || user.home;
  const asked = fromHome(wanted, user.home);
  const path = enterable(asked);
  if (path === undefined) {
    throw new ConnectError(`working directory ${JSON.stringify(asked)} does not exist`, Code.InvalidArgument);
  }
  if (!singleUser && user.uid !== 0 && !mayEnter(realpathSync.native(path), user)) {
    throw new ConnectError(
      `working directory ${JSON.stringify(path)}: permission denied`,
      Code.InvalidArgument,
    );
  }
  return path;
}

/** The path, or one without links where root may not follow those of users; undefined for what is no directory. */
function enterable(path: string): string | undefined {
  for (const at of [() => path, () => realpathSync.native(path)]) {
    try {
      const candidate = at();
      return statSync(candidate).isDirectory() ? candidate : undefined;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EACCES') return undefined;
    }
  }
  return undefined;
}

function fromHome(path: string, home: string): string {
  if (path === '~') return home;
  if (path.startsWith('~/')) return resolve(home, path.slice(2));
  if (path.startsWith('~')) {
    throw new ConnectError(
      `cannot resolve ${JSON.stringify(path)}: only ~ itself is known`,
      Code.InvalidArgument,
    );
  }
  return resolve(home, path);
}

// The runtime changes directory before it changes the account, so the kernel would not refuse.
function mayEnter(path: string, user: OsUser): boolean {
  for (let at = path; ; at = dirname(at)) {
    const { mode, uid, gid } = statSync(at);
    const bits =
      uid === user.uid ? mode >> 6 : gid === user.gid || user.groups.includes(gid) ? mode >> 3 : mode;
    if ((bits & 1) === 0) return false;
    if (at === '/') return true;
  }
}
