import { type FSWatcher, watch } from 'node:fs';
import { join } from 'node:path';
import type { Exclusions } from '../rules/ignore.js';

/**
 * Reports that something happened in the local tree. On Linux each directory is watched by itself, those that are left
 * out not at all, which `update` keeps in step; on others the system watches the whole tree.
 */
export class LocalWatch {
  readonly #root: string;
  readonly #exclusions: Exclusions;
  readonly #onChange: () => void;
  readonly #onFailure: (error: unknown) => void;
  readonly #watchers = new Map<string, FSWatcher>();
  #closed = false;

  constructor(
    root: string,
    exclusions: Exclusions,
    on: { change: () => void; failure: (error: unknown) => void },
  ) {
    this.#root = root;
    this.#exclusions = exclusions;
    this.#onChange = on.change;
    this.#onFailure = on.failure;
  }

  /** True while the root itself is watched. */
  get active(): boolean {
    return this.#watchers.has('');
  }

  /**
   * Watches the root and these directories, and no others any more. Returns true when one was added: what happened in it
   * before was not reported.
   */
  update(directories: Iterable<string>): boolean {
    if (this.#closed) return false;
    const wanted = new Set(process.platform === 'linux' ? ['', ...directories] : ['']);
    for (const directory of [...this.#watchers.keys()]) if (!wanted.has(directory)) this.#drop(directory);
    let added = false;
    for (const directory of wanted) {
      if (this.#watchers.has(directory)) continue;
      if (!this.#add(directory)) return added;
      added = true;
    }
    return added;
  }

  close(): void {
    this.#closed = true;
    for (const directory of [...this.#watchers.keys()]) this.#drop(directory);
  }

  /** False when the system watches no more. */
  #add(directory: string): boolean {
    try {
      const recursive = process.platform !== 'linux';
      const watcher = watch(join(this.#root, directory), { recursive }, (_, name) => {
        if (this.#closed) return;
        const path = [directory, name?.replaceAll('\\', '/')].filter(Boolean).join('/');
        if (path === '' || !this.#exclusions.excludes(path, false)) this.#onChange();
      });
      watcher.on('error', () => {
        // The directory went: the next look sees it.
        this.#drop(directory);
        this.#onChange();
      });
      this.#watchers.set(directory, watcher);
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // One that went meanwhile is seen by the next look.
      if (directory !== '' && (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES')) return true;
      this.#onFailure(error);
      return false;
    }
  }

  #drop(directory: string): void {
    this.#watchers.get(directory)?.close();
    this.#watchers.delete(directory);
  }
}
