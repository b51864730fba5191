import { chmod, mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { isDiskFull } from '#support/disk-full';
import { DriverError } from '../contract/errors.js';
import type { VolumeContent } from '../contract/volumes.js';
import { removeTree } from '../jail/remove-tree.js';
import { randomId, requireVolumeId } from '../shared/instance-id.js';
import type { RetryLater } from '../shared/retry-later.js';
import { type HostVolumes, volumeContent } from './content.js';

/** Volumes as directories, without limits. Names that begin with a dot are about to be removed. */
export class PlainVolumes implements HostVolumes {
  readonly #root: string;
  readonly #cleanUp: RetryLater;
  readonly #contentOf: (id: string) => VolumeContent;

  /**
   * @param root absolute; made when it is needed. No tenant may be able to change what it leads to.
   * @param contentOf the files of a volume. Default: this process works on them.
   */
  constructor(root: string, cleanUp: RetryLater, contentOf?: (id: string) => VolumeContent) {
    this.#root = root;
    this.#cleanUp = cleanUp;
    this.#contentOf = contentOf ?? ((id) => volumeContent(id, (each) => this.path(each)));
  }

  async make(id: string): Promise<void> {
    // Files that sandboxes write, set-uid programs too, must not reach other users of the host.
    await mkdir(this.#root, { recursive: true, mode: 0o700 });
    const made = await mkdir(this.#pathOf(id), { recursive: true }).catch((error: unknown) => {
      throw storageFullOf(error);
    });
    // Every user inside a sandbox may write to it: sandboxes know only that the volume is their team's.
    if (made !== undefined) await chmod(this.#pathOf(id), 0o777);
  }

  async list(): Promise<string[]> {
    return (await this.#names()).filter((name) => !name.startsWith('.'));
  }

  async delete(id: string): Promise<void> {
    const aside = `.gone-${randomId()}`;
    try {
      await rename(this.#pathOf(id), join(this.#root, aside));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    void this.#remove(aside);
  }

  async usedBytes(): Promise<undefined> {
    return undefined;
  }

  content(id: string) {
    return this.#contentOf(id);
  }

  async path(id: string): Promise<string> {
    return this.#pathOf(id);
  }

  // A program that writes into one must keep nobody from starting.
  async reap(): Promise<void> {
    for (const name of await this.#names()) if (name.startsWith('.')) void this.#remove(name);
  }

  #remove(name: string): Promise<boolean> {
    return this.#cleanUp.attempt(`volume ${name}`, () => removeTree(join(this.#root, name)));
  }

  #pathOf(id: string): string {
    return join(this.#root, requireVolumeId(id));
  }

  #names(): Promise<string[]> {
    return readdir(this.#root).catch(() => []);
  }
}

function storageFullOf(error: unknown): unknown {
  if (!isDiskFull(error)) return error;
  return new DriverError('storage_full', 'The storage of the sandboxes is full.', { cause: error });
}
