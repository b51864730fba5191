import type { Dir } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';

/** Files and directories that one session may have open. */
const MOST = 512;

export type OpenHandle =
  | { kind: 'file'; file: FileHandle; append: boolean }
  | { kind: 'directory'; dir: Dir; path: Buffer };

/** What a session has open, by the names that the client was given. */
export class Handles {
  readonly #open = new Map<string, OpenHandle>();
  #next = 0;

  /** @throws Error when too much is open */
  async add(handle: OpenHandle): Promise<string> {
    if (this.#open.size >= MOST) {
      await closeHandle(handle);
      throw new Error(`${MOST} files are open`);
    }
    const name = String(this.#next++);
    this.#open.set(name, handle);
    return name;
  }

  file(name: Buffer): Extract<OpenHandle, { kind: 'file' }> {
    const handle = this.#open.get(name.toString('latin1'));
    if (handle?.kind === 'file') return handle;
    throw new Error('no file is open under this handle');
  }

  directory(name: Buffer): Extract<OpenHandle, { kind: 'directory' }> {
    const handle = this.#open.get(name.toString('latin1'));
    if (handle?.kind === 'directory') return handle;
    throw new Error('no directory is open under this handle');
  }

  async close(name: Buffer): Promise<void> {
    const key = name.toString('latin1');
    const handle = this.#open.get(key);
    if (handle === undefined) throw new Error('nothing is open under this handle');
    this.#open.delete(key);
    await closeHandle(handle);
  }

  async closeAll(): Promise<void> {
    const all = [...this.#open.values()];
    this.#open.clear();
    await Promise.allSettled(all.map(closeHandle));
  }
}

function closeHandle(handle: OpenHandle): Promise<void> {
  return handle.kind === 'file' ? handle.file.close() : handle.dir.close();
}
