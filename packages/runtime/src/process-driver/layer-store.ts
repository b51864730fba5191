import { Readable } from 'node:stream';
import { saysDiskFull } from '#support/disk-full';
import { ArchiveError } from '../archive/archive-limits.js';
import { guardTar } from '../archive/tar-guard.js';
import type { ImportOptions, Layers } from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import type { LayerInfo } from '../contract/instance.js';
import { copyTree } from '../shared/copy-tree.js';
import { randomId, requireLayerId } from '../shared/instance-id.js';
import { runProgram } from '../shared/run-program.js';
import { FileSets } from './file-sets.js';
import type { Paths } from './paths.js';

interface LayerFields {
  /** The layer holds the whole home directory: those below it do not show through. */
  complete: boolean;
}

export interface LayerStoreOptions {
  paths: Paths;
  /** @throws {DriverError} `closed` */
  requireOpen(): void;
  /** Returns true if an instance or checkpoint uses the layer. Pooled instances are given up for it. */
  inUse(id: string): Promise<boolean>;
}

/** Layers of home directories. A layer is a plain directory; stacking means copying one over the other. */
export class LayerStore implements Layers {
  readonly #sets: FileSets<LayerFields>;
  readonly #options: LayerStoreOptions;

  constructor(options: LayerStoreOptions) {
    this.#options = options;
    this.#sets = new FileSets({ directory: options.paths.layers, drafts: options.paths.drafts });
  }

  async importTar(tar: Readable, options: ImportOptions = {}): Promise<LayerInfo> {
    this.#options.requireOpen();
    return this.#add(false, async (files) => {
      const args = ['-x', '-f', '-', '-C', files, '--no-same-owner'];
      const stdin = Readable.from(guardTar(tar, { limits: options.limits }), { objectMode: false });
      const { exitCode, stderr } = await runProgram('tar', args, { stdin, signal: options.signal }).catch(
        (error: unknown) => {
          if (!ArchiveError.is(error)) throw error;
          throw new DriverError('invalid_archive', `The archive is refused: ${error.message}.`);
        },
      );
      if (exitCode === 0) return;
      if (saysDiskFull(stderr)) {
        throw new DriverError('storage_full', 'There is not enough disk space for the layer.', {
          detail: stderr,
        });
      }
      throw new DriverError('invalid_archive', 'The archive is not a readable tar archive.', {
        detail: stderr,
      });
    });
  }

  /** Stores a whole home directory. */
  commit(fill: (files: string) => Promise<void>): Promise<LayerInfo> {
    return this.#add(true, fill);
  }

  async list(): Promise<LayerInfo[]> {
    this.#options.requireOpen();
    return (await this.#sets.list()).map(({ id, sizeBytes }) => ({ id, sizeBytes }));
  }

  async delete(id: string): Promise<void> {
    this.#options.requireOpen();
    requireLayerId(id);
    if (await this.#options.inUse(id)) {
      throw new DriverError('busy', 'The layer is in use by a sandbox or checkpoint.');
    }
    if (!(await this.#sets.delete(id))) throw noSuch('layer');
  }

  /** @throws {DriverError} `not_found` when one of them does not exist. */
  async require(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      if ((await this.#sets.find(requireLayerId(id))) === undefined) throw noSuch('layer');
    }
  }

  /** Puts the layers into an empty home directory, the lowest first. */
  async unpack(ids: readonly string[], home: string, signal?: AbortSignal): Promise<void> {
    for (const id of await this.#visible(ids)) await copyTree(this.#sets.filesOf(id), home, signal);
  }

  /** The layers from the topmost complete one upwards. */
  async #visible(ids: readonly string[]): Promise<string[]> {
    const visible: string[] = [];
    for (const id of ids.toReversed()) {
      const info = await this.#sets.find(requireLayerId(id));
      if (info === undefined) throw noSuch('layer');
      visible.unshift(id);
      if (info.complete) break;
    }
    return visible;
  }

  async #add(complete: boolean, fill: (files: string) => Promise<void>): Promise<LayerInfo> {
    const id = randomId();
    const { sizeBytes } = await this.#sets.add(id, { info: { complete }, fill });
    return { id, sizeBytes };
  }
}

function noSuch(what: 'layer' | 'checkpoint'): DriverError {
  return new DriverError('not_found', `There is no such ${what}.`);
}
