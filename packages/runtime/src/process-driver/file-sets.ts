import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeAtomically } from '#support/write-atomically';
import { directorySize } from '../shared/directory-size.js';
import { randomId } from '../shared/instance-id.js';
import { runProgram } from '../shared/run-program.js';

/** A directory of stored sets of files, each with a small record. A set appears whole or not at all. */
export class FileSets<Info extends object> {
  readonly #directory: string;
  readonly #drafts: string;

  constructor(options: { directory: string; drafts: string }) {
    this.#directory = options.directory;
    this.#drafts = options.drafts;
  }

  filesOf(id: string): string {
    return join(this.#directory, id, 'files');
  }

  /** Lets `fill` write the files, then makes the set visible under `id`. */
  async add(
    id: string,
    options: { info: Info; durable?: boolean; fill(files: string): Promise<void> },
  ): Promise<{ sizeBytes: number }> {
    const draft = join(this.#drafts, randomId());
    try {
      const files = join(draft, 'files');
      await mkdir(files, { recursive: true, mode: 0o700 });
      await options.fill(files);
      const sizeBytes = await directorySize(files);
      await writeAtomically(join(draft, 'info.json'), JSON.stringify({ ...options.info, sizeBytes }));
      // Where there is no `sync -f` the kernel writes in its own time.
      if (options.durable) await runProgram('sync', ['-f', draft]).catch(() => undefined);
      await rename(draft, join(this.#directory, id));
      return { sizeBytes };
    } catch (error) {
      await removeTree(draft);
      throw error;
    }
  }

  async find(id: string): Promise<(Info & { id: string; sizeBytes: number }) | undefined> {
    try {
      const stored = JSON.parse(await readFile(join(this.#directory, id, 'info.json'), 'utf8')) as Info & {
        sizeBytes: number;
      };
      return { ...stored, id };
    } catch {
      return undefined;
    }
  }

  async list(): Promise<(Info & { id: string; sizeBytes: number })[]> {
    const found = [];
    for (const id of (await readdir(this.#directory)).sort()) {
      const info = await this.find(id);
      if (info !== undefined) found.push(info);
    }
    return found;
  }

  /** False when there was none. */
  async delete(id: string): Promise<boolean> {
    const aside = join(this.#drafts, randomId());
    try {
      await rename(join(this.#directory, id), aside);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
    await removeTree(aside);
    return true;
  }
}

/** Removes a directory that a program may have filled with directories nobody may enter. */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    await runProgram('chmod', ['-R', 'u+rwX', path]).catch(() => undefined);
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
  }
}
