/** The paths of a layer, their parents included, with `directory` or `other`; `other` hides the paths below it. */
export type LayerIndex = ReadonlyMap<string, 'directory' | 'other'>;

/** Collects the paths of one layer. Pure but for its own state. */
export class IndexBuilder {
  readonly #paths = new Map<string, 'directory' | 'other'>();
  readonly #links = new Set<string>();

  /** @returns a clause that says what is wrong with the path, for the user; undefined: nothing. */
  add(path: string, type: string): string | undefined {
    if (path.split('/').includes('..')) return 'a path in it has ".."';
    for (const way of waysTo(path)) {
      // A reader would follow the link, and write wherever it leads.
      if (this.#links.has(way)) return 'a path in it goes through a link of its own';
      if (this.#paths.get(way) !== 'other') this.#paths.set(way, 'directory');
    }
    if (path === '') return undefined;
    this.#paths.set(path, type === '5' ? 'directory' : 'other');
    if (type === '2') this.#links.add(path);
    else this.#links.delete(path);
    return undefined;
  }

  get index(): LayerIndex {
    return this.#paths;
  }
}

/**
 * Returns true if an entry of a lower layer must be left out, because the entry above it is of another kind. One file over another
 * is no such case: unpacking replaces it, and other names of the lower file keep their content. Pure.
 */
export function isHidden(path: string, type: string, above: readonly LayerIndex[]): boolean {
  return above.some((index) => {
    if (waysTo(path).some((way) => index.get(way) === 'other')) return true;
    const here = index.get(path);
    return here !== undefined && (here === 'directory') !== (type === '5');
  });
}

/** The directories above a path, the highest first. */
function waysTo(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}
