import { ancestorsOf, nameOf, parentOf, sameEntry, type Tree } from './tree.js';

/** Answers that are needed of three trees again and again: the entries of a directory, and changes below a path. */
export class TreeIndex {
  readonly #children = new Map<string, Set<string>>();
  readonly #changed: { local: Set<string>; remote: Set<string> };

  constructor(base: Tree, local: Tree, remote: Tree) {
    for (const tree of [base, local, remote]) {
      for (const path of tree.keys()) {
        const names = this.#children.get(parentOf(path));
        if (names) names.add(nameOf(path));
        else this.#children.set(parentOf(path), new Set([nameOf(path)]));
      }
    }
    this.#changed = { local: changes(base, local), remote: changes(base, remote) };
  }

  /** Paths directly below a directory, in any of the trees. */
  childrenOf(directory: string): string[] {
    const names = this.#children.get(directory);
    if (names === undefined) return [];
    return [...names].sort().map((name) => (directory === '' ? name : `${directory}/${name}`));
  }

  /** Returns true when a path, or anything below it, differs on a side from the common state. */
  changed(side: 'local' | 'remote', path: string): boolean {
    return this.#changed[side].has(path);
  }
}

function changes(base: Tree, tree: Tree): Set<string> {
  const changed = new Set<string>();
  const add = (path: string) => {
    changed.add(path);
    for (const above of ancestorsOf(path)) changed.add(above);
  };
  for (const [path, entry] of tree) if (!sameEntry(entry, base.get(path))) add(path);
  for (const path of base.keys()) if (!tree.has(path)) add(path);
  return changed;
}
