/** The entry at a path, as far as both sides must agree on it. Times, owners and other bits of the mode are not compared. */
export type Entry = FileContent | { readonly type: 'directory' } | LinkContent;

interface FileContent {
  readonly type: 'file';
  /** SHA-256 of its bytes, 64 hexadecimal digits. */
  readonly digest: string;
  /** True when its owner may execute it. */
  readonly executable: boolean;
}

interface LinkContent {
  readonly type: 'symlink';
  /** The target of the link. */
  readonly target: string;
}

/** Facts of an entry that was found on one side. */
export interface Found {
  /** Changes whenever the entry does; compared with nothing but itself. */
  readonly fingerprint: string;
  /** Of files; 0 for others. */
  readonly sizeBytes: number;
  /** The nine permission bits. */
  readonly mode: number;
  /** Time of the last write, ms since 1970. */
  readonly modifiedMs: number;
}

/** An entry of one side. */
export type FoundEntry = Entry & Found;

/** Entries by their path relative to the root, with `/` between the parts. The root itself is not in it. */
export type Tree<E extends Entry = Entry> = ReadonlyMap<string, E>;

/** Returns true when both sides would call it the same. Undefined: nothing there. */
export function sameEntry(a: Entry | undefined, b: Entry | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.type === 'file') return b.type === 'file' && a.digest === b.digest && a.executable === b.executable;
  if (a.type === 'symlink') return b.type === 'symlink' && a.target === b.target;
  return b.type === 'directory';
}

/** The part of an entry that is compared. */
export function plainEntry(entry: Entry): Entry {
  if (entry.type === 'file') return { type: 'file', digest: entry.digest, executable: entry.executable };
  return entry.type === 'symlink' ? { type: 'symlink', target: entry.target } : { type: 'directory' };
}

/** The directory that a path is in; '' is the root. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

/** The last part of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The directories above a path, outermost first, the root left out. */
export function ancestorsOf(path: string): string[] {
  const above: string[] = [];
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) above.push(path.slice(0, at));
  return above;
}

/** Orders paths so that each directory comes before what is in it. */
export function byPath(a: string, b: string): number {
  const [left, right] = [a.split('/'), b.split('/')];
  for (let at = 0; at < Math.min(left.length, right.length); at += 1) {
    const [x, y] = [left[at] as string, right[at] as string];
    if (x !== y) return x < y ? -1 : 1;
  }
  return left.length - right.length;
}
