import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeAtomically } from '#support/write-atomically';
import type { StoredCheckpoint } from '../shared/instance-registry.js';

export interface IncusCheckpoint extends StoredCheckpoint {
  /** Of the stopped instance that it is. */
  name: string;
  /** Of the image that its source was made of. */
  imageBytes: number;
}

/** The data directory's records of checkpoints: while a machine is away, Incus gives only the names of its checkpoints. */
export class CheckpointRecords {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Those that are there; the directory is made where it is missing.
   * @param names of everything in Incus: what is none of it any more is forgotten.
   */
  async load(names: ReadonlySet<string>): Promise<IncusCheckpoint[]> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const kept: IncusCheckpoint[] = [];
    for (const file of await readdir(this.#directory)) {
      const name = /^(.+)\.json$/.exec(file)?.[1];
      if (name === undefined) continue;
      if (names.has(name))
        kept.push(JSON.parse(await readFile(join(this.#directory, file), 'utf8')) as IncusCheckpoint);
      else await this.remove(name);
    }
    return kept;
  }

  write(checkpoint: IncusCheckpoint): Promise<void> {
    return writeAtomically(join(this.#directory, `${checkpoint.name}.json`), JSON.stringify(checkpoint));
  }

  /** Repeating it is fine. */
  remove(name: string): Promise<void> {
    return rm(join(this.#directory, `${name}.json`), { force: true });
  }
}
