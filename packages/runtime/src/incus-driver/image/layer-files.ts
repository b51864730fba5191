import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isDiskFull } from '#support/disk-full';
import { writeAtomically } from '#support/write-atomically';
import { ArchiveError } from '../../archive/archive-limits.js';
import { guardTar } from '../../archive/tar-guard.js';
import type { ImportOptions } from '../../contract/driver.js';
import { DriverError } from '../../contract/errors.js';
import { randomId } from '../../shared/instance-id.js';
import { readTarEntries } from './tar-entries.js';
import { IndexBuilder, type LayerIndex } from './whiteouts.js';

/** The files of a layer in the data directory, beside its archive. */
export interface StoredLayer {
  id: string;
  sizeBytes: number;
  /** A root file system of its own: nothing below it is used, the base neither. */
  full: boolean;
  /** It is an image of Incus, made of an instance, and has no archive here. */
  image?: string | undefined;
  /** The daemon's directory that such an image has. */
  agent?: string | undefined;
}

const WHOLE = ['bin/sh', 'usr/bin/sh', 'etc/os-release', 'usr/lib/os-release'];

/** Layers in the data directory: `ID.json`, and `ID.tar` with `ID.paths` of those that came as archives. */
export class LayerFiles {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async prepare(): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    for (const name of await readdir(this.#directory)) {
      // Archives of uploads that were never finished.
      const id = name.split('.')[0]!;
      if (!name.endsWith('.json') && (await this.find(id)) === undefined)
        await rm(this.#path(name), { force: true });
    }
  }

  /** @throws {DriverError} `invalid_archive`, `storage_full` */
  async addArchive(tar: Readable, { limits, signal }: ImportOptions): Promise<StoredLayer> {
    const id = randomId();
    const path = this.#path(`${id}.tar`);
    try {
      const guarded = Readable.from(guardTar(tar, { limits }), { objectMode: false });
      await pipeline(
        guarded,
        createWriteStream(path, { mode: 0o600 }),
        ...(signal === undefined ? [] : [{ signal }]),
      );
      const { index, problem } = await indexOf(path);
      if (problem !== undefined) throw new ArchiveError(problem);
      await writeAtomically(this.#path(`${id}.paths`), JSON.stringify([...index]));
      const { size } = await stat(path);
      return await this.add({ id, sizeBytes: size, full: WHOLE.some((name) => index.has(name)) });
    } catch (error) {
      await Promise.all([path, this.#path(`${id}.paths`)].map((each) => rm(each, { force: true })));
      signal?.throwIfAborted();
      if (ArchiveError.is(error))
        throw new DriverError('invalid_archive', `The archive is refused: ${error.message}.`, {
          cause: error,
        });
      if (isDiskFull(error))
        throw new DriverError('storage_full', 'There is not enough disk space for the layer.', {
          cause: error,
        });
      throw error;
    }
  }

  async add(layer: StoredLayer): Promise<StoredLayer> {
    await writeAtomically(this.#path(`${layer.id}.json`), JSON.stringify(layer));
    return layer;
  }

  async find(id: string): Promise<StoredLayer | undefined> {
    try {
      return JSON.parse(await readFile(this.#path(`${id}.json`), 'utf8')) as StoredLayer;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  async list(): Promise<StoredLayer[]> {
    const names = (await readdir(this.#directory)).filter((name) => name.endsWith('.json')).sort();
    const found = await Promise.all(names.map((name) => this.find(name.slice(0, -'.json'.length))));
    return found.filter((layer) => layer !== undefined);
  }

  async indexOf(id: string): Promise<LayerIndex> {
    return new Map(
      JSON.parse(await readFile(this.#path(`${id}.paths`), 'utf8')) as [string, 'directory' | 'other'][],
    );
  }

  open(id: string): AsyncIterable<Buffer> {
    return createReadStream(this.#path(`${id}.tar`), { highWaterMark: 2 ** 18 });
  }

  async delete(id: string): Promise<void> {
    // The record first: what is left then belongs to no layer.
    for (const ending of ['json', 'tar', 'paths']) await rm(this.#path(`${id}.${ending}`), { force: true });
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }
}

async function indexOf(path: string): Promise<{ index: LayerIndex; problem: string | undefined }> {
  const builder = new IndexBuilder();
  let problem: string | undefined;
  for await (const { entry } of readTarEntries(createReadStream(path, { highWaterMark: 2 ** 18 }))) {
    problem ??= builder.add(entry.path, entry.type);
    if (entry.type === '1' && entry.linkPath.split('/').includes('..'))
      problem ??= 'a link in it leads out of it';
  }
  return { index: builder.index, problem };
}
