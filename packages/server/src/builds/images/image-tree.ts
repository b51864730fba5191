import type { Header } from 'tar-stream';
import { entryPath, parentsOf } from '../files/entry-path.js';

/** Which entry of which layer. */
export interface EntryPlace {
  layer: number;
  entry: number;
}

interface Node extends EntryPlace {
  type: 'file' | 'directory' | 'symlink' | 'link';
  /** Of a symbolic link. */
  linkname: string;
  /** Of a hard link: where its content is. */
  source: EntryPlace | undefined;
}

const MAX_LINKS = 40;

/**
 * The files of an image, worked out from the headers of its layers: what lies above replaces what lies below, and
 * `.wh.` entries remove it. Layers are given from the lowest up, the entries of each in order.
 */
export class ImageTree {
  readonly #nodes = new Map<string, Node>();
  /** Regular files of the layer that is being read. */
  #own = new Map<string, EntryPlace>();
  #removals: (() => void)[] = [];
  #puts: (() => void)[] = [];

  add(header: Header, place: EntryPlace): void {
    const path = imagePath(header.name);
    if (!path) return;
    const base = path.slice(path.lastIndexOf('/') + 1);
    const parent = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
    if (base === '.wh..wh..opq') this.#removals.push(() => this.#removeBelow(this.#real(parent)));
    else if (base.startsWith('.wh.')) {
      const gone = join(parent, base.slice('.wh.'.length));
      this.#removals.push(() => this.#remove(this.#realParent(gone)));
    } else this.#puts.push(() => this.#put(this.#realParent(path), header, place));
  }

  /** Ends a layer. What it removes was in the layers below: order within a layer means nothing. */
  endLayer(): void {
    for (const remove of this.#removals) remove();
    for (const put of this.#puts) put();
    this.#removals = [];
    this.#puts = [];
    this.#own = new Map();
  }

  /** Whether there is anything at a path. */
  has(path: string): boolean {
    return this.#nodes.has(path);
  }

  /** The names under which each entry appears in the end; an entry that is not there is covered or removed. */
  names(): Map<string, string[]> {
    const names = new Map<string, string[]>();
    for (const [path, node] of this.#nodes) {
      const key = placeKey(node.source ?? node);
      const list = names.get(key) ?? [];
      // A file's own name comes before hard links to it.
      if (node.type === 'link') list.push(path);
      else list.unshift(path);
      names.set(key, list);
    }
    return names;
  }

  #put(path: string, header: Header, place: EntryPlace): void {
    const type = typeOf(header);
    if (type === undefined) return;
    let source: EntryPlace | undefined;
    if (type === 'link') {
      const target = this.#realParent(imagePath(header.linkname) ?? '');
      const known = this.#nodes.get(target);
      source = this.#own.get(target) ?? known?.source ?? known;
      if (source === undefined) return;
    }
    for (const parent of parentsOf(path))
      if (this.#nodes.get(parent)?.type !== 'directory') this.#nodes.delete(parent);
    if (type !== 'directory') this.#remove(path);
    if (type === 'file' || type === 'link') this.#own.set(path, source ?? place);
    this.#nodes.set(path, { ...place, type, linkname: header.linkname, source });
  }

  #remove(path: string): void {
    if (this.#nodes.get(path)?.type !== 'directory') this.#nodes.delete(path);
    else {
      this.#nodes.delete(path);
      this.#removeBelow(path);
    }
  }

  #removeBelow(path: string): void {
    const prefix = path === '' ? '' : `${path}/`;
    for (const each of [...this.#nodes.keys()]) if (each.startsWith(prefix)) this.#nodes.delete(each);
  }

  /** The path with links in its parents followed, never out of the image. */
  #realParent(path: string): string {
    const cut = path.lastIndexOf('/');
    return cut < 0 ? path : join(this.#real(path.slice(0, cut)), path.slice(cut + 1));
  }

  #real(path: string): string {
    const todo = path.split('/').filter((part) => part !== '');
    let here: string[] = [];
    let links = 0;
    for (let part = todo.shift(); part !== undefined; part = todo.shift()) {
      if (part === '.') continue;
      if (part === '..') {
        here.pop();
        continue;
      }
      const node = this.#nodes.get([...here, part].join('/'));
      if (node?.type !== 'symlink' || ++links > MAX_LINKS) {
        here.push(part);
        continue;
      }
      if (node.linkname.startsWith('/')) here = [];
      todo.unshift(...node.linkname.split('/').filter((each) => each !== ''));
    }
    return here.join('/');
  }
}

export function placeKey({ layer, entry }: EntryPlace): string {
  return `${layer}:${entry}`;
}

/** Names of an image start at its root, with a slash or without. */
function imagePath(name: string): string | undefined {
  return entryPath(name.replace(/^\/+/, ''));
}

function join(parent: string, name: string): string {
  return parent === '' ? name : `${parent}/${name}`;
}

/** Devices and pipes are left out: drivers make their own. */
function typeOf(header: Header): Node['type'] | undefined {
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
