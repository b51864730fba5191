import { parentOf, resolvePath } from './paths.js';

/** The entry at a path. Never changed: a change puts another one in its place, so that copies of a tree share them. */
export interface FileNode {
  readonly kind: 'file' | 'directory';
  readonly bytes: Uint8Array;
  /** The nine permission bits. */
  readonly mode: number;
  readonly owner: string;
  readonly modifiedMs: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A change of a tree. */
export interface FileChange {
  readonly path: string;
  readonly kind: 'create' | 'write' | 'remove' | 'rename';
}

/** Why a change of a tree is refused, named as the kernel does. */
export class FileFailure extends Error {
  override readonly name = 'FileFailure';
  readonly code: 'ENOENT' | 'ENOTDIR' | 'EISDIR' | 'EEXIST' | 'ENOTEMPTY' | 'EINVAL';
  readonly path: string;

  constructor(code: FileFailure['code'], path: string) {
    super(`${path}: ${texts[code]}`);
    this.code = code;
    this.path = path;
  }
}

const texts = {
  ENOENT: 'no such file or directory',
  ENOTDIR: 'not a directory',
  EISDIR: 'is a directory',
  EEXIST: 'exists and is not a directory',
  ENOTEMPTY: 'directory not empty',
  EINVAL: 'a directory cannot be moved into itself',
};

const none = new Uint8Array();
const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** The files of one sandbox, in memory. Paths are absolute, or start at the home directory `/home/user`. */
export class FileTree {
  readonly home: string = '/home/user';
  readonly #now: () => number;
  readonly #nodes: Map<string, FileNode>;
  readonly #listeners = new Set<(change: FileChange) => void>();

  /** @internal */
  constructor(now: () => number, nodes?: ReadonlyMap<string, FileNode>) {
    this.#now = now;
    this.#nodes = new Map(nodes);
    if (nodes) return;
    for (const path of ['/', '/home', '/root', '/tmp', '/usr', '/etc'])
      this.#nodes.set(path, this.#directory('root'));
    this.#nodes.set(this.home, this.#directory('user'));
  }

  /** @internal A tree of its own with the same content. */
  copy(): FileTree {
    return new FileTree(this.#now, this.#nodes);
  }

  /** @internal What is at a path, or undefined. */
  find(path: string): FileNode | undefined {
    return this.#nodes.get(path);
  }

  /**
   * Reads a file as text.
   * @throws Error when there is no such file
   * @example
   * expect(service.sandbox(sandbox.id).files.read('report.md')).toContain('done');
   */
  read(path: string): string {
    return decoder.decode(this.readBytes(path));
  }

  /**
   * Reads a file.
   * @throws Error when there is no such file
   * @example
   * const bytes = service.sandbox(sandbox.id).files.readBytes('plot.png');
   */
  readBytes(path: string): Uint8Array {
    return this.open(this.resolve(path)).bytes;
  }

  /**
   * Returns true when there is an entry at a path.
   * @example
   * expect(service.sandbox(sandbox.id).files.has('out/result.json')).toBe(true);
   */
  has(path: string): boolean {
    return this.#nodes.has(this.resolve(path));
  }

  /**
   * Writes a file, and the directories that it needs.
   * @example
   * service.sandbox(sandbox.id).files.write('data.csv', 'a,b\n1,2\n');
   */
  write(path: string, content: string | Uint8Array): void {
    this.put(this.resolve(path), typeof content === 'string' ? encoder.encode(content) : content.slice());
  }

  /**
   * Removes what is at a path, with everything in it. False when there was nothing.
   * @example
   * service.sandbox(sandbox.id).files.remove('data.csv');
   */
  remove(path: string): boolean {
    return this.removeAll(this.resolve(path));
  }

  /**
   * Absolute paths of all files, sorted.
   * @example
   * expect(service.sandbox(sandbox.id).files.paths()).toEqual(['/home/user/a.txt']);
   */
  paths(): string[] {
    return [...this.#nodes].flatMap(([path, { kind }]) => (kind === 'file' ? [path] : [])).sort();
  }

  /** @internal */
  resolve(path: string, home = this.home): string {
    return resolvePath(path, home);
  }

  /** @internal The file at an absolute path. */
  open(path: string): FileNode {
    const node = this.#nodes.get(path);
    if (!node) throw new FileFailure(this.#underFile(path) ? 'ENOTDIR' : 'ENOENT', path);
    if (node.kind === 'directory') throw new FileFailure('EISDIR', path);
    return node;
  }

  /** @internal Puts a file at an absolute path. */
  put(
    path: string,
    bytes: Uint8Array,
    metadata: Readonly<Record<string, string>> = {},
    owner = 'user',
  ): FileNode {
    const before = this.#nodes.get(path);
    if (before?.kind === 'directory') throw new FileFailure('EISDIR', path);
    this.makeParents(path, owner);
    const node = {
      kind: 'file',
      bytes,
      mode: before?.mode ?? 0o644,
      owner,
      modifiedMs: this.#now(),
      metadata,
    } as const;
    this.#nodes.set(path, node);
    if (!before) this.#tell({ path, kind: 'create' });
    this.#tell({ path, kind: 'write' });
    return node;
  }

  /** @internal */
  makeDirectory(path: string, owner = 'user'): FileNode {
    const found = this.#nodes.get(path);
    if (found) throw new FileFailure('EEXIST', path);
    this.makeParents(path, owner);
    const node = this.#directory(owner);
    this.#nodes.set(path, node);
    this.#tell({ path, kind: 'create' });
    return node;
  }

  /** @internal */
  makeParents(path: string, owner = 'user'): void {
    const parent = parentOf(path);
    const found = this.#nodes.get(parent);
    if (found?.kind === 'file') throw new FileFailure('ENOTDIR', parent);
    if (!found) this.makeDirectory(parent, owner);
  }

  /** @internal Moves an entry with everything in it; a file at the destination is replaced. */
  move(from: string, to: string, owner = 'user'): FileNode {
    const node = this.#nodes.get(from);
    if (!node) throw new FileFailure('ENOENT', from);
    if (to.startsWith(`${from}/`)) throw new FileFailure('EINVAL', to);
    this.makeParents(to, owner);
    const target = this.#nodes.get(to);
    if (from === to) return node;
    if (target?.kind === 'directory') {
      if (node.kind === 'file') throw new FileFailure('EISDIR', to);
      if (this.#below(to).length > 0) throw new FileFailure('ENOTEMPTY', to);
    } else if (target && node.kind === 'directory') throw new FileFailure('ENOTDIR', to);
    const inside = this.#below(from);
    for (const path of [from, ...inside]) {
      this.#nodes.set(`${to}${path.slice(from.length)}`, this.#nodes.get(path) as FileNode);
      this.#nodes.delete(path);
    }
    this.#tell({ path: from, kind: 'rename' });
    this.#tell({ path: to, kind: 'create' });
    return node;
  }

  /** @internal Whether there was something. */
  removeAll(path: string): boolean {
    if (!this.#nodes.has(path)) return false;
    const inside = this.#below(path).sort().reverse();
    for (const each of path === '/' ? inside : [...inside, path]) {
      this.#nodes.delete(each);
      this.#tell({ path: each, kind: 'remove' });
    }
    return true;
  }

  /** @internal Paths below a directory, depth first in lexical order. */
  list(path: string, depth: number): string[] {
    const node = this.#nodes.get(path);
    if (!node) throw new FileFailure(this.#underFile(path) ? 'ENOTDIR' : 'ENOENT', path);
    if (node.kind === 'file') throw new FileFailure('ENOTDIR', path);
    const levels = (each: string) => each.slice(path.length).split('/').length - (path === '/' ? 0 : 1);
    const byParts = (a: string, b: string) => (a.replaceAll('/', '\0') < b.replaceAll('/', '\0') ? -1 : 1);
    return this.#below(path)
      .filter((each) => levels(each) <= depth)
      .sort(byParts);
  }

  /** @internal Calls `listener` after each change. Gives what ends that. */
  onChange(listener: (change: FileChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #tell(change: FileChange): void {
    for (const listener of [...this.#listeners]) listener(change);
  }

  #below(path: string): string[] {
    const prefix = path === '/' ? '/' : `${path}/`;
    return [...this.#nodes.keys()].filter((each) => each !== '/' && each.startsWith(prefix));
  }

  #underFile(path: string): boolean {
    for (let at = parentOf(path); at !== '/'; at = parentOf(at)) {
      const node = this.#nodes.get(at);
      if (node) return node.kind === 'file';
    }
    return false;
  }

  #directory(owner: string): FileNode {
    return { kind: 'directory', bytes: none, mode: 0o755, owner, modifiedMs: this.#now(), metadata: {} };
  }
}

/** Returns a mode as `ls -l` shows it: `-rw-r--r--`. */
export function permissionsOf({ kind, mode }: FileNode): string {
  let bits = '';
  for (let shift = 8; shift >= 0; shift -= 1) bits += mode & (1 << shift) ? 'rwx'[(8 - shift) % 3] : '-';
  return `${kind === 'directory' ? 'd' : '-'}${bits}`;
}
