import { DriverError } from '../contract/errors.js';
import { FileSets } from './file-sets.js';
import type { Paths } from './paths.js';

export interface ProcessCheckpoint extends CheckpointFields {
  id: string;
  sizeBytes: number;
}

interface CheckpointFields {
  memory: boolean;
  /** The layers of the instance; kept so that a restored one commits on the same ground. */
  layers: string[];
}

/** Copies of home directories. */
export class CheckpointStore {
  readonly sets: FileSets<CheckpointFields>;
  readonly #claimed = new Set<string>();

  constructor(paths: Paths) {
    this.sets = new FileSets({ directory: paths.checkpoints, drafts: paths.drafts });
  }

  /** Runs `task`, which makes the checkpoint, unless the name is taken. @throws {DriverError} `busy` */
  async claim<T>(id: string, task: () => Promise<T>): Promise<T> {
    if (this.#claimed.has(id)) throw taken();
    this.#claimed.add(id);
    try {
      if ((await this.sets.find(id)) !== undefined) throw taken();
      return await task();
    } finally {
      this.#claimed.delete(id);
    }
  }
}

function taken(): DriverError {
  return new DriverError('busy', 'A checkpoint of this name exists already.');
}
