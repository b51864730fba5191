import { constants } from 'node:fs';

const { S_IFMT, S_IFDIR, S_IFLNK, S_IFBLK, S_IFCHR, S_IFIFO, S_IFSOCK, S_IFREG } = constants;

/** Kind letters in the order of the wire's text form. */
function kindLetters(mode: number): string {
  const kind = mode & S_IFMT;
  let letters = '';
  if (kind === S_IFDIR) letters += 'd';
  if (kind === S_IFLNK) letters += 'L';
  if (kind === S_IFBLK || kind === S_IFCHR) letters += 'D';
  if (kind === S_IFIFO) letters += 'p';
  if (kind === S_IFSOCK) letters += 'S';
  if (mode & 0o4000) letters += 'u';
  if (mode & 0o2000) letters += 'g';
  if (kind === S_IFCHR) letters += 'c';
  if (mode & 0o1000) letters += 't';
  return letters || (kind === S_IFREG ? '-' : '?');
}

/** `-rw-r--r--`, `drwxr-xr-x`, `Lrwxrwxrwx`, `dtrwxrwxrwx`: the text form of a mode, kind bits included. @wire EntryInfo.permissions */
export function formatPermissions(mode: number): string {
  let bits = '';
  for (let shift = 8; shift >= 0; shift--) bits += mode & (1 << shift) ? 'rwx'[(8 - shift) % 3] : '-';
  return kindLetters(mode) + bits;
}
