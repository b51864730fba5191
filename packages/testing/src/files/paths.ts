/** A path that no file can have, or that the daemon does not understand. */
export class InvalidPathError extends Error {
  override readonly name = 'InvalidPathError';
}

/**
 * The absolute, tidy form of a path: empty and `~` are the home, relative ones start there.
 * @throws InvalidPathError for `~other` and for a NUL character
 */
export function resolvePath(path: string, home: string): string {
  if (path.includes('\0')) throw new InvalidPathError('path contains a NUL byte');
  if (path === '' || path === '~') return home;
  if (path.startsWith('~/')) return tidy(`${home}/${path.slice(2)}`);
  if (path.startsWith('~'))
    throw new InvalidPathError(`path ${JSON.stringify(path)}: other users' homes are not supported`);
  return tidy(path.startsWith('/') ? path : `${home}/${path}`);
}

/** Without `.`, `..` and doubled slashes. */
function tidy(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/** The directory that an absolute path is in; of `/` itself `/`. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}

/** Last part of an absolute path; of `/` itself `/`. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1) || '/';
}
