import { lstatSync } from 'node:fs';

/** Returns true if a path is a directory itself: a link is none, wherever it leads. */
export function isDirectory(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Returns true if a layer has an entry at a path, without following any link on the way. */
export function isThere(root: string, path: string): boolean {
  const parts = path.split('/');
  const name = parts.pop()!;
  let here = root;
  for (const part of parts) {
    here = `${here}/${part}`;
    if (!isDirectory(here)) return false;
  }
  return lstatSync(`${here}/${name}`, { throwIfNoEntry: false }) !== undefined;
}
