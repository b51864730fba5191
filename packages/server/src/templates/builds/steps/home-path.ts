import { posix } from 'node:path';
import { BuildError } from '../shared/build-error.js';

/**
 * A path for drivers whose layers hold the home directory alone, relative to it; empty for the home itself.
 * `/home/user` means the home, wherever it really is.
 * @throws {BuildError} when it lies elsewhere
 */
export function homePath(path: string, what: string): string {
  const home = '/home/user';
  const absolute = path === '~' || path.startsWith('~/') ? posix.join(home, path.slice(1)) : path;
  const relative = posix.relative(home, posix.resolve(home, absolute));
  if (relative === '..' || relative.startsWith('../'))
    throw new BuildError(
      `${what}: this server keeps only the home directory of a template, so '${path}' cannot be used; start the server with the linux driver for whole file systems`,
    );
  return relative;
}
