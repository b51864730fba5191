import { setImmediate as breathe } from 'node:timers/promises';
import type { Header } from 'tar-stream';
import { entryPath } from '../files/entry-path.js';
import { BuildError } from '../shared/build.js';

/** An entry and the layer that it is in. */
export interface EntryPlace {
  layer: number;
  entry: number;
}

interface Entry extends EntryPlace {
  type: 'file' | 'directory' | 'symlink' | 'link';
  /** The target of a symbolic link. */
  linkname: string;
  /** The path of a hard link's content. */
  source: EntryPlace | undefined;
}

interface Node {
  /** Undefined: a directory that no entry describes. */
  entry: Entry | undefined;
  /** The entries of a directory by name. */
  children: Map<string, Node> | undefined;
}

const MAX_LINKS = 40;
/** Steps of the walks along links, in the whole image: real ones need a few for each file. */
const MAX_STEPS = 30_000_000;
/** Directories that no entry describes; real images have an entry for nearly each. */
const MAX_BARE = 1_000_000;
/** Changes between two breaks for other work of the server. */
const CHANGES_AT_ONCE = 5_000;

interface Put {
  path: string;
  header: Header;
  place: EntryPlace;
}

/**
 * The files of an image, worked out from the headers of its layers: what lies above replaces what lies below, and
 * `.wh.` entries remove it. Layers are given from the lowest up, the entries of each in order. A name that a layer has
 * itself stands for that, as where layers lie over each other: the layer's links are followed, and those below are not.
 */
export class ImageTree {
  readonly #root: Node = newDirectory();
  /** Last parts of the paths of all symbolic links so far. */
  readonly #linkNames = new Set<string>();
  /** Paths of the layer that may be links below it, by their number of parts. */
  #suspects: string[][] = [];
  /** Directories of the layer that hide what the layers below have in them. */
  #opaque: string[] = [];
  #removed: string[] = [];
  #puts: Put[] = [];
  #steps = 0;
  #bare = 0;

  add(header: Header, place: EntryPlace): void {
    const path = imagePath(header.name);
    if (!path) return;
    const base = path.slice(path.lastIndexOf('/') + 1);
    const parent = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
    if (base === '.wh..wh..opq') this.#opaque.push(parent);
    else if (base.startsWith('.wh.')) this.#removed.push(join(parent, base.slice('.wh.'.length)));
    else this.#puts.push({ path, header, place });
    // An opaque directory is one of this layer, with an entry of its own or without.
    const own = base === '.wh..wh..opq' ? parent : path;
    if (!this.#linkNames.has(own.slice(own.lastIndexOf('/') + 1))) return;
    const { length } = partsOf(own);
    this.#suspects[length] ??= [];
    this.#suspects[length].push(own);
  }

  /**
   * Ends a layer. What it removes was in the layers below: order within a layer means nothing.
   * @throws {BuildError} when its links are a maze, or it consists of directories without entries
   */
  async endLayer(): Promise<void> {
    let done = 0;
    for (const change of this.#changes()) {
      change();
      if (++done % CHANGES_AT_ONCE === 0) await breathe();
    }
    this.#suspects = [];
    this.#opaque = [];
    this.#removed = [];
    this.#puts = [];
  }

  *#changes(): Generator<() => void> {
    const below = new Map<Put, Entry | undefined>();
    for (const put of this.#puts)
      if (put.header.type === 'link') yield () => below.set(put, this.#target(put.header));
    // Upper directories first: they decide where the others lead.
    for (const path of this.#suspects.flat()) yield () => this.#uncover(this.#realParent(path));
    for (const path of this.#opaque) yield () => this.#makeDirectory(this.#realParent(path)).clear();
    for (const path of this.#removed) yield () => this.#remove(this.#realParent(path));
    for (const put of this.#puts) yield () => this.#put(put, below.get(put));
  }

  /** Takes a link of a layer below away, so that nothing of this layer leads through it. */
  #uncover(parts: string[]): void {
    const node = this.#find(parts);
    if (node?.entry?.type === 'symlink') this.#makeDirectory(parts);
  }

  /** Returns whether there is anything at a path. */
  has(path: string): boolean {
    return this.#find(path.split('/')) !== undefined;
  }

  /** The names under which each entry appears in the end; an entry that is not there is covered or removed. */
  names(): Map<string, string[]> {
    const names = new Map<string, string[]>();
    const visit = (node: Node, path: string) => {
      if (node.entry !== undefined) {
        const key = placeKey(node.entry.source ?? node.entry);
        const list = names.get(key) ?? [];
        // A file's own name comes before hard links to it.
        if (node.entry.type === 'link') list.push(path);
        else list.unshift(path);
        names.set(key, list);
      }
      for (const [name, child] of node.children ?? []) visit(child, join(path, name));
    };
    visit(this.#root, '');
    return names;
  }

  /** @param below of a hard link: what its target was before this layer */
  #put({ path: written, header, place }: Put, below: Entry | undefined): void {
    const parts = this.#realParent(written);
    const type = typeOf(header);
    const name = parts.at(-1);
    if (type === undefined || name === undefined) return;
    // The types promise a target; an archive need not have one.
    const linkname = (header.linkname as string | null | undefined) ?? '';
    if ((type === 'symlink' || type === 'link') && linkname === '') return;
    let source: EntryPlace | undefined;
    if (type === 'link') {
      const known = this.#target(header) ?? below;
      source = known?.source ?? known;
      if (source === undefined) return;
    }
    const parent = this.#makeDirectory(parts.slice(0, -1));
    if (type === 'symlink') this.#linkNames.add(name);
    const entry = { ...place, type, linkname, source };
    const before = type === 'directory' ? parent.get(name)?.children : undefined;
    // At the end of its directory, as if it were new: an archive has no order of its own to keep.
    parent.delete(name);
    parent.set(name, { entry, children: before ?? (type === 'directory' ? new Map() : undefined) });
  }

  /** Resolves a hard link. */
  #target({ linkname }: Header): Entry | undefined {
    const entry = this.#find(this.#realParent(imagePath(linkname ?? '') ?? ''))?.entry;
    return entry?.type === 'directory' ? undefined : entry;
  }

  /** Returns the entries of a directory; anything else on the way is replaced. */
  #makeDirectory(parts: readonly string[]): Map<string, Node> {
    let here = this.#root.children!;
    for (const part of parts) {
      let child = here.get(part);
      if (child?.children === undefined) {
        if (++this.#bare > MAX_BARE)
          throw new BuildError(
            `the image is refused: more than ${MAX_BARE} of its directories have no entry of their own`,
          );
        child = newDirectory();
        here.set(part, child);
      }
      here = child.children!;
    }
    return here;
  }

  #remove(parts: readonly string[]): void {
    const name = parts.at(-1);
    if (name !== undefined) this.#find(parts.slice(0, -1))?.children?.delete(name);
  }

  #find(parts: readonly string[]): Node | undefined {
    let node: Node | undefined = this.#root;
    for (const part of parts) node = node?.children?.get(part);
    return node;
  }

  /** The path with links in its parents followed, never out of the image. */
  #realParent(path: string): string[] {
    const cut = path.lastIndexOf('/');
    if (cut < 0) return path === '' ? [] : [path];
    return [...this.#real(path.slice(0, cut)), path.slice(cut + 1)];
  }

  #real(path: string): string[] {
    // Backwards, so that the next part is the last.
    const todo = partsOf(path).reverse();
    const here: { name: string; node: Node | undefined }[] = [];
    let links = 0;
    for (let part = todo.pop(); part !== undefined; part = todo.pop()) {
      if (++this.#steps > MAX_STEPS) throw new BuildError('the image is refused: its links are a maze');
      if (part === '..') {
        here.pop();
        continue;
      }
      const above = here.length === 0 ? this.#root : here.at(-1)!.node;
      const node = above?.children?.get(part);
      if (node?.entry?.type !== 'symlink' || ++links > MAX_LINKS) {
        here.push({ name: part, node });
        continue;
      }
      if (node.entry.linkname.startsWith('/')) here.length = 0;
      todo.push(...partsOf(node.entry.linkname).reverse());
    }
    return here.map(({ name }) => name);
  }
}

export function placeKey({ layer, entry }: EntryPlace): string {
  return `${layer}:${entry}`;
}

function newDirectory(): Node {
  return { entry: undefined, children: new Map() };
}

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}

/** Names of an image start at its root, with a slash or without. */
function imagePath(name: string): string | undefined {
  return entryPath(name.replace(/^\/+/, ''));
}

function join(parent: string, name: string): string {
  return parent === '' ? name : `${parent}/${name}`;
}

/** Devices and pipes are left out: drivers make their own. */
function typeOf(header: Header): Entry['type'] | undefined {
  switch (header.type) {
    case 'file':
    case 'contiguous-file':
      return 'file';
    case 'directory':
    case 'symlink':
    case 'link':
      return header.type;
    default:
      return undefined;
  }
}
