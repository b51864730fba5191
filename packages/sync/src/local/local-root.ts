import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, open, realpath } from 'node:fs/promises';
import { join } from 'node:path';

/** True when a directory that is held open can be named, so that nothing can be put in its way. */
const heldByName = process.platform === 'linux';
const { O_DIRECTORY = 0, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY } = constants;
const directoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;

/** Opens a file for reading without following a link in its place, or waiting for the writer of a fifo. */
export const readFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;

/** A directory below a root that is held while work is done in it. */
export interface HeldDirectory {
  /** A name to give to the system for something directly in it; no link is followed on the way. */
  at(name: string): string;
  close(): Promise<void>;
}

interface KeptDirectory {
  directory: string;
  held: HeldDirectory;
  enteredMs: number;
  users: number;
  /** True while the next user may take it; otherwise its last user closes it. */
  isCurrent: boolean;
}

/** Time that a directory is kept open for the next change in it, ms. */
const keptMs = 50;

/** Up to this size a file is read or written at once: waiting for the system at each step takes far longer. Bytes. */
export const smallFileBytes = 256 * 1024;

/**
 * The local directory. Everything below it is reached step by step without following a link: on Linux by directories
 * that are held open, so that putting a link in the way at the wrong moment leads nowhere; on other systems each step is looked
 * at right before it is used.
 */
export class LocalRoot {
  /** Absolute, without links. */
  readonly path: string;
  readonly #handle: FileHandle | undefined;
  #kept: KeptDirectory | undefined;

  private constructor(path: string, handle: FileHandle | undefined) {
    this.path = path;
    this.#handle = handle;
  }

  /** @throws the system's error when there is no such directory */
  static async open(path: string): Promise<LocalRoot> {
    const real = await realpath(path);
    if (heldByName) return new LocalRoot(real, await open(real, directoryFlags));
    if (!(await lstat(real)).isDirectory()) throw notDirectory(real);
    return new LocalRoot(real, undefined);
  }

  /**
   * Holds a directory below the root; '' is the root itself.
   * @throws the system's error: ENOENT, and ENOTDIR or ELOOP when something else is on the way, a link for example
   */
  async enter(directory: string): Promise<HeldDirectory> {
    const parts = directory === '' ? [] : directory.split('/');
    if (this.#handle === undefined) return this.#enterByPath(parts);
    let held = this.#handle;
    for (const part of parts) {
      try {
        const next = await open(`/proc/self/fd/${held.fd}/${part}`, directoryFlags);
        if (held !== this.#handle) await held.close();
        held = next;
      } catch (error) {
        if (held !== this.#handle) await held.close();
        throw error;
      }
    }
    const { fd } = held;
    return {
      at: (name) => `/proc/self/fd/${fd}/${name}`,
      close: async () => {
        if (held !== this.#handle) await held.close();
      },
    };
  }

  /** Does work in a directory. It is held a little longer: most changes come directory by directory. */
  async within<T>(directory: string, work: (at: HeldDirectory['at']) => T | Promise<T>): Promise<T> {
    let kept = this.#kept;
    if (kept?.directory !== directory || Date.now() - kept.enteredMs > keptMs) {
      const held = await this.enter(directory);
      await this.#letGo();
      kept = { directory, held, enteredMs: Date.now(), users: 0, isCurrent: true };
      this.#kept = kept;
    }
    kept.users += 1;
    try {
      return await work(kept.held.at);
    } finally {
      kept.users -= 1;
      if (!kept.isCurrent && kept.users === 0) await kept.held.close();
    }
  }

  async close(): Promise<void> {
    await this.#letGo();
    await this.#handle?.close();
  }

  async #letGo(): Promise<void> {
    const kept = this.#kept;
    if (kept === undefined) return;
    this.#kept = undefined;
    kept.isCurrent = false;
    if (kept.users === 0) await kept.held.close();
  }

  async #enterByPath(parts: readonly string[]): Promise<HeldDirectory> {
    let path = this.path;
    for (const part of parts) {
      path = join(path, part);
      if (!(await lstat(path)).isDirectory()) throw notDirectory(path);
    }
    return { at: (name) => join(path, name), close: async () => {} };
  }
}

/** Returns a text that differs between states of an entry. A rename within the file system changes the last part alone. */
export function fingerprintOf(stats: BigIntStats): string {
  return `${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`;
}

/** Returns true for an error of the system with one of these codes. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes((error as { code?: string } | undefined)?.code ?? '');
}

function notDirectory(path: string): Error {
  return Object.assign(new Error(`${path} is no directory`), { code: 'ENOTDIR' });
}
