import type { Header } from 'tar-stream';
import { entryPath, parentsOf } from './entry-path.js';

/**
 * Judges the entries of an archive one after another, by their headers alone: files, directories and links that stay
 * inside it. What it accepts can be unpacked into an empty directory without writing anywhere else.
 */
export class ArchiveRules {
  readonly #links = new Set<string>();
  readonly #files = new Set<string>();

  /** The reason to refuse the entry; undefined: it is accepted. */
  refuse(header: Header): string | undefined {
    const shown = JSON.stringify(header.name.slice(0, 200));
    const path = entryPath(header.name);
    if (path === undefined) return `the name ${shown} leads out of the archive`;
    if (parentsOf(path).some((parent) => this.#links.has(parent))) return `${shown} lies behind a link`;
    switch (header.type) {
      case 'file':
      case 'contiguous-file':
        if (path === '') return `${shown} is not a file name`;
        this.#files.add(path);
        this.#links.delete(path);
        return undefined;
      case 'directory':
        return this.#links.has(path) ? `${shown} is a link and a directory` : undefined;
      case 'symlink':
        if (path === '') return `${shown} is not a file name`;
        this.#links.add(path);
        return undefined;
      case 'link': {
        const target = entryPath(header.linkname ?? '');
        if (target === undefined || !this.#files.has(target))
          return `the hard link ${shown} leads to no file of the archive`;
        this.#files.add(path);
        return undefined;
      }
      default:
        return `${shown} is neither a file nor a directory nor a link`;
    }
  }
}
