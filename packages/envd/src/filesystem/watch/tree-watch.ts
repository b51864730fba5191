import { type FSWatcher, readdirSync, watch } from 'node:fs';
import { posix } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { EventType } from '@svc/daemon/gen';
import { classifyBatch, hasContent, type Observation } from './classify.js';
import { type Snapshot, takeSnapshot } from './snapshot.js';

/** One change. `name` is relative to the watched directory. */
export interface Change {
  name: string;
  path: string;
  type: EventType;
}

export interface TreeWatchOptions {
  /** Absolute path of a directory, as changes name it. */
  path: string;
  /** The same without links, which root may not be allowed to follow. Default: the path. */
  real?: string;
  recursive: boolean;
  onChange(change: Change): void;
  /** Called at most once; nothing follows. */
  onFailure(error: Error): void;
}

interface Directory {
  watcher: FSWatcher;
  entries: Map<string, Snapshot>;
}

interface Report {
  directory: string;
  name: string;
  kind: 'rename' | 'change';
}

/**
 * Watches a directory, or a whole tree, by the kernel's notifications. These say only that something happened to a
 * name; what it was follows from comparing with what is remembered of every entry.
 *
 * A move out of the tree cannot be told from a removal and is reported as one.
 */
export class TreeWatch {
  readonly #options: TreeWatchOptions;
  /** By path relative to the root; the root itself is ''. */
  readonly #directories = new Map<string, Directory>();
  #reports: Report[] = [];
  #scheduled = false;
  #started = false;
  #closed = false;

  constructor(options: TreeWatchOptions) {
    this.#options = options;
  }

  /**
   * Starts watching; every change made after it resolves is reported.
   *
   * @throws the system's error when a directory cannot be watched.
   */
  async start(): Promise<void> {
    try {
      const rest = this.#add('');
      while (rest.length > 0 && !this.#closed) {
        // Big trees must not keep the daemon from its other work.
        await nextTurn();
        rest.push(...this.#addIfThere(rest.pop()!));
      }
    } catch (error) {
      this.close();
      throw error;
    }
    this.#started = true;
    this.#schedule();
  }

  /** Releases everything. Idempotent. */
  close(): void {
    this.#closed = true;
    for (const { watcher } of this.#directories.values()) watcher.close();
    this.#directories.clear();
    this.#reports = [];
  }

  #absolute(relative: string): string {
    return relative === '' ? this.#options.path : posix.join(this.#options.path, relative);
  }

  #real(directory: string): string {
    return posix.join(this.#options.real ?? this.#options.path, directory);
  }

  /** Watches one directory and remembers its entries; answers the directories in it that are to be watched too. */
  #add(directory: string): string[] {
    const path = this.#real(directory);
    const watcher = watch(path, (kind, name) => {
      if (name === null || this.#closed) return;
      this.#reports.push({ directory, name, kind });
      this.#schedule();
    });
    watcher.on('error', (error) => this.#fail(error));
    const entries = new Map<string, Snapshot>();
    this.#directories.set(directory, { watcher, entries });
    // After the watch is there: what comes between the two is in the scan, and in a report that then finds no news.
    for (const name of readdirSync(path)) {
      const snapshot = takeSnapshot(posix.join(path, name));
      if (snapshot) entries.set(name, snapshot);
    }
    if (!this.#options.recursive) return [];
    return [...entries].filter(([, entry]) => entry.directory).map(([name]) => posix.join(directory, name));
  }

  #addIfThere(directory: string): string[] {
    try {
      return this.#add(directory);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' && code !== 'ENOTDIR' && code !== 'EACCES') throw error;
      this.#drop(directory);
      return [];
    }
  }

  /** Takes in a directory that has just come, with everything in it. */
  #addTree(directory: string, announce: boolean): void {
    const rest = [directory];
    while (rest.length > 0) {
      const next = rest.shift()!;
      rest.push(...this.#addIfThere(next));
      if (!announce) continue;
      for (const [name, entry] of this.#directories.get(next)?.entries ?? []) {
        entry.unreportedContent = hasContent(entry);
        this.#emit(posix.join(next, name), EventType.CREATE);
      }
    }
  }

  #drop(directory: string): void {
    for (const [path, { watcher }] of this.#directories) {
      if (path !== directory && !path.startsWith(`${directory}/`)) continue;
      watcher.close();
      this.#directories.delete(path);
    }
  }

  #schedule(): void {
    if (this.#scheduled || !this.#started || this.#closed || this.#reports.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#closed) return;
      try {
        this.#process();
      } catch (error) {
        this.#fail(error as Error);
      }
    });
  }

  #process(): void {
    const reports = this.#reports;
    this.#reports = [];
    const observed = this.#observe(reports);
    const verdicts = classifyBatch(observed.map(({ observation }) => observation));
    observed.forEach(({ directory, name, observation: { before, after } }, index) => {
      const { types, arrived, moved } = verdicts[index]!;
      const entries = this.#directories.get(directory)?.entries;
      if (!entries) return;
      const path = posix.join(directory, name);
      if (before?.directory && before.id !== after?.id && this.#options.recursive) this.#drop(path);
      if (after) {
        const known = types.includes(EventType.WRITE) || moved;
        after.unreportedContent =
          !known && (arrived ? hasContent(after) : (before?.unreportedContent ?? false));
        entries.set(name, after);
      } else entries.delete(name);
      for (const type of types) this.#emit(path, type);
      if (after?.directory && arrived && this.#options.recursive) this.#addTree(path, !moved);
    });
  }

  #observe(reports: readonly Report[]) {
    const found = new Map<
      string,
      { directory: string; name: string; observation: Observation; last: number }
    >();
    reports.forEach(({ directory, name, kind }, index) => {
      const known = this.#directories.get(directory);
      if (!known) return;
      const key = posix.join(directory, name);
      let item = found.get(key);
      if (!item) {
        const path = posix.join(this.#absolute(directory), name);
        const before = known.entries.get(name);
        const after = takeSnapshot(path);
        // Reports about the directory itself carry its own name; they count only while it is there.
        if (!before && !after && name === posix.basename(this.#real(directory))) return;
        item = {
          directory,
          name,
          observation: { before, after, renames: 0, changes: 0, followedByArrival: false },
          last: index,
        };
        found.set(key, item);
      }
      if (kind === 'rename') item.observation.renames++;
      else item.observation.changes++;
      item.last = index;
    });
    for (const { observation, last } of found.values()) {
      const next = reports[last + 1];
      const arrival = next && found.get(posix.join(next.directory, next.name))?.observation;
      observation.followedByArrival = next?.kind === 'rename' && arrival?.after !== undefined;
    }
    return [...found.values()];
  }

  #emit(name: string, type: EventType): void {
    if (!this.#closed) this.#options.onChange({ name, path: this.#absolute(name), type });
  }

  #fail(error: Error): void {
    if (this.#closed) return;
    this.close();
    this.#options.onFailure(error);
  }
}
