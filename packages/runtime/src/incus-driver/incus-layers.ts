import type { Readable } from 'node:stream';
import type { ImportOptions, Layers } from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import type { LayerInfo } from '../contract/instance.js';
import { requireLayerId } from '../shared/instance-id.js';
import { translated } from './driver-error.js';
import type { Images } from './image/images.js';
import type { LayerFiles } from './image/layer-files.js';

export interface IncusLayersOptions {
  files: LayerFiles;
  images: Images;
  /** @throws {DriverError} `closed` */
  requireOpen(): void;
  /** Returns true if an instance or checkpoint uses the layer. Pooled instances are given up for it. */
  inUse(id: string): Promise<boolean>;
}

/** Layers as archives in the data directory, and as images of Incus where they were made of an instance. */
export class IncusLayers implements Layers {
  readonly #options: IncusLayersOptions;

  constructor(options: IncusLayersOptions) {
    this.#options = options;
  }

  async importTar(tar: Readable, options: ImportOptions = {}): Promise<LayerInfo> {
    this.#options.requireOpen();
    const { id, sizeBytes } = await this.#options.files.addArchive(tar, options);
    return { id, sizeBytes };
  }

  async list(): Promise<LayerInfo[]> {
    this.#options.requireOpen();
    return (await this.#options.files.list()).map(({ id, sizeBytes }) => ({ id, sizeBytes }));
  }

  async delete(id: string): Promise<void> {
    const { files, images, requireOpen, inUse } = this.#options;
    requireOpen();
    requireLayerId(id);
    if ((await files.find(id)) === undefined) throw new DriverError('not_found', 'There is no such layer.');
    if (await inUse(id)) throw new DriverError('busy', 'The layer is in use by a sandbox or checkpoint.');
    const fallback = { code: 'busy', message: 'The layer could not be deleted.' } as const;
    await translated(() => images.deleteWith(id), fallback);
    await files.delete(id);
  }
}
