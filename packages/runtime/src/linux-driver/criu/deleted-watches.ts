import { statSync } from 'node:fs';
import { readText } from '../../shared/read-text.js';
import type { Turns } from '../../shared/turns.js';
import { programName } from './program-name.js';
import { readMappings } from './read-mappings.js';

const DELETED = ' (deleted)';
/** Address, rights, offset, device, inode number and path of a mapping. */
const MAPPING = /^\S+ \S+ \S+ \S+ (\d+) +\/.* \(deleted\)$/;

/**
 * Finds programs that watch a file by inotify which has no name any more and is still open. CRIU keeps only the number of its inode,
 * by which a copy would watch the file of its source while that lives, and find nothing afterwards.
 */
export class DeletedWatches {
  readonly #watched = new Map<string, number>();
  readonly #deleted: string[] = [];

  /** To be called with each descriptor of each program. */
  add(pid: number, fd: string, target: string, proc = '/proc'): void {
    if (target.endsWith(DELETED)) this.#deleted.push(`${proc}/${pid}/fd/${fd}`);
    if (target !== 'anon_inode:inotify') return;
    for (const [, inode] of (readText(`${proc}/${pid}/fdinfo/${fd}`) ?? '').matchAll(
      /^inotify wd:\S+ ino:(\S+)/gm,
    ))
      this.#watched.set(String(Number.parseInt(inode!, 16)), pid);
  }

  /** Sentences for the user. */
  async find(pids: readonly number[], turns: Turns, proc = '/proc'): Promise<string[]> {
    if (this.#watched.size === 0) return [];
    const found = new Set<number>();
    const look = (inode: string | undefined) => {
      const watcher = inode === undefined ? undefined : this.#watched.get(inode);
      if (watcher !== undefined) found.add(watcher);
    };
    for (const path of [...this.#deleted, ...pids.map((pid) => `${proc}/${pid}/cwd`)]) {
      await turns.give();
      look(inodeWithoutName(path));
    }
    for (const pid of pids)
      for await (const lines of readMappings(pid, turns, proc))
        for (const line of lines) look(MAPPING.exec(line)?.[1]);
    return [...found].map(
      (pid) => `${programName(pid)} watches (inotify) a file that was deleted while it is open`,
    );
  }
}

function inodeWithoutName(path: string): string | undefined {
  try {
    const { ino, nlink } = statSync(path, { bigint: true });
    return nlink === 0n ? String(ino) : undefined;
  } catch {
    return undefined;
  }
}
