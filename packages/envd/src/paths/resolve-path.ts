import { posix } from 'node:path';

/** What a path is resolved against. */
export interface PathBase {
  /** Home directory of the user, absolute. */
  home: string;
  /** Default working directory, as /init gave it; undefined: the home. */
  workdir: string | undefined;
}

/** A path that no file can have, or that the daemon does not understand. */
export class InvalidPathError extends Error {
  override readonly name = 'InvalidPathError';
}

/**
 * Makes a path absolute. Empty is the working directory, else the home; `~` and `~/x` start at the home; relative ones
 * are joined to the home (not to the working directory); absolute ones stay as they are.
 *
 * @throws InvalidPathError for `~other` and for a NUL byte.
 */
export function resolvePath(path: string, base: PathBase): string {
  if (path.includes('\0')) throw new InvalidPathError('path contains a NUL byte');
  if (path === '')
    return base.workdir ? resolvePath(base.workdir, { ...base, workdir: undefined }) : base.home;
  if (path === '~') return base.home;
  if (path.startsWith('~/')) return posix.join(base.home, path.slice(2));
  if (path.startsWith('~'))
    throw new InvalidPathError(`path ${JSON.stringify(path)}: other users' homes are not supported`);
  if (path.startsWith('/')) return path;
  return posix.join(base.home, path);
}
