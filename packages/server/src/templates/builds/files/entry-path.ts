/**
 * The path of an archive's entry in canonical form: no leading `./`, no trailing `/`; empty for the archive's root.
 * Undefined when it leads out: absolute, or with a `..` part, or with a NUL byte.
 */
export function entryPath(name: string): string | undefined {
  if (name.startsWith('/') || name.includes('\0')) return undefined;
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  return parts.includes('..') ? undefined : parts.join('/');
}

/** Every directory above a path, the nearest last: `a/b/c` has `a` and `a/b`. */
export function parentsOf(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}
