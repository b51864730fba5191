import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { KeyedMutex } from '#support/keyed-mutex';
import { DriverError } from '../../contract/errors.js';
import type { IncusClient } from '../../incus/incus-client.js';
import { IncusError } from '../../incus/incus-error.js';
import { imageKeys } from '../keys.js';
import { readImages, readMadeImage } from '../read-wire.js';
import type { WireImage } from '../wire.js';
import { composeImage, type ImagePart } from './compose-image.js';
import type { LayerFiles, StoredLayer } from './layer-files.js';
import { fileEntry, TAR_END } from './tar-entries.js';
import { tarOfTree } from './tar-of-tree.js';

export interface ImagesOptions {
  client: IncusClient;
  layers: LayerFiles;
  /** Absolute path of the daemon's directory, named after its content. */
  agent: string;
  agentName: string;
  /** The base of instances without layers. @throws {DriverError} `unsupported` while none is built */
  base(): { name: string; tree: string };
  architecture: string;
  nameServers: readonly string[];
  owner: string;
  now(): number;
}

const UPLOAD_MS = 900_000;

export interface StackImage {
  fingerprint: string;
  /** Of the archive, which is about what it takes unpacked. */
  sizeBytes: number;
}

/** Images of Incus that instances are made of: each stack of layers is published once, under a name of its content. */
export class Images {
  readonly #options: ImagesOptions;
  readonly #mutex = new KeyedMutex();
  /** By stack. */
  readonly #known = new Map<string, StackImage>();
  /** Layers that other servers made, by id. */
  readonly #published = new Map<string, StoredLayer>();

  constructor(options: ImagesOptions) {
    this.#options = options;
  }

  /**
   * The image with these layers over the base and the daemon in it; made when it is not there.
   * @throws {DriverError} `invalid_spec` for a layer that is not there, `unsupported` without a base.
   */
  async require(layerIds: readonly string[]): Promise<StackImage> {
    const { files, lowest } = await this.#plan(layerIds);
    const top = files.at(-1);
    if (files.length === 1 && top?.image !== undefined && top.agent === this.#options.agentName)
      return { fingerprint: top.image, sizeBytes: top.sizeBytes };
    const stack = this.#nameOf(lowest, files);
    return (
      this.#known.get(stack) ??
      this.#mutex.run(stack, async () => {
        const found = (await this.list()).find(({ properties }) => properties[imageKeys.stack] === stack);
        const image =
          found === undefined
            ? await this.#publish(stack, lowest, files)
            : { fingerprint: found.fingerprint, sizeBytes: found.size };
        this.#known.set(stack, image);
        return image;
      })
    );
  }

  /** Looks again the next time: an image that was deleted by somebody else. */
  forget(): void {
    this.#known.clear();
    this.#published.clear();
  }

  async list(): Promise<WireImage[]> {
    return readImages(await this.#options.client.call({ path: '/images', query: { recursion: '1' } }));
  }

  /** Makes a layer of a snapshot of an instance. */
  async publishSnapshot(options: {
    instance: string;
    snapshot: string;
    layerId: string;
  }): Promise<StoredLayer> {
    const { client, agentName, owner } = this.#options;
    const { instance, snapshot, layerId } = options;
    const made = await client.call({
      method: 'POST',
      path: '/images',
      body: {
        source: { type: 'snapshot', name: `${instance}/${snapshot}` },
        compression_algorithm: 'none',
        properties: {
          [imageKeys.layer]: layerId,
          [imageKeys.owner]: owner,
          [imageKeys.agent]: agentName,
        },
      },
      operationMs: UPLOAD_MS,
    });
    const { fingerprint: image, size: sizeBytes } = readMadeImage(made);
    return { id: layerId, sizeBytes, full: true, image, agent: agentName };
  }

  /** Returns true if everything that these layers need is on the cluster: none of them is an archive in a data directory. */
  async has(layerIds: readonly string[]): Promise<boolean> {
    try {
      const { files } = await this.#plan(layerIds);
      return files.every(({ image }) => image !== undefined);
    } catch (error) {
      if (DriverError.is(error) && error.code === 'invalid_spec') return false;
      throw error;
    }
  }

  /** Makes an image of another data directory this one's, and what it is of a layer. */
  async take({ fingerprint, size, properties }: WireImage): Promise<void> {
    const { client, layers, owner } = this.#options;
    const id = properties[imageKeys.layer];
    if (id !== undefined && (await layers.find(id)) === undefined)
      await layers.add(layerOf(id, { fingerprint, size, properties }));
    await client.find({
      method: 'PATCH',
      path: `/images/${fingerprint}`,
      body: { properties: { ...properties, [imageKeys.owner]: owner } },
    });
  }

  /** Deletes images with a layer in them. */
  async deleteWith(layerId: string): Promise<void> {
    for (const { fingerprint, properties } of await this.list()) {
      const layers = (properties[imageKeys.layers] ?? '').split(',');
      if (properties[imageKeys.layer] !== layerId && !layers.includes(layerId)) continue;
      await this.delete(fingerprint);
    }
  }

  /** Repeating it is fine. */
  async delete(fingerprint: string): Promise<void> {
    await this.#options.client.find({ method: 'DELETE', path: `/images/${fingerprint}` });
    this.forget();
  }

  async #plan(layerIds: readonly string[]) {
    const { layers, base } = this.#options;
    const files: StoredLayer[] = [];
    for (const id of layerIds.toReversed()) {
      const layer = (await layers.find(id)) ?? (await this.#findPublished(id));
      if (layer === undefined) throw new DriverError('invalid_spec', `There is no layer "${id}".`);
      files.unshift(layer);
      if (layer.full) return { files, lowest: undefined };
    }
    return { files, lowest: base() };
  }

  /** A layer that was made of an instance, on whichever server: all that it is, is an image. */
  async #findPublished(id: string): Promise<StoredLayer | undefined> {
    const known = this.#published.get(id);
    if (known !== undefined) return known;
    const found = (await this.list()).find(({ properties }) => properties[imageKeys.layer] === id);
    if (found === undefined) return undefined;
    const layer = layerOf(id, found);
    this.#published.set(id, layer);
    return layer;
  }

  #nameOf(lowest: { name: string } | undefined, files: readonly StoredLayer[]): string {
    const { agentName, nameServers } = this.#options;
    const parts = [lowest?.name ?? '', agentName, nameServers, files.map(({ id }) => id)];
    return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
  }

  async #publish(
    stack: string,
    lowest: { name: string; tree: string } | undefined,
    files: readonly StoredLayer[],
  ): Promise<StackImage> {
    const { client, architecture, owner, now } = this.#options;
    const properties = {
      [imageKeys.stack]: stack,
      [imageKeys.layers]: files.map(({ id }) => id).join(','),
      [imageKeys.owner]: owner,
      description: lowest === undefined ? `sandbox image ${stack}` : `sandbox image on ${lowest.name}`,
    };
    const parts = await this.#parts(lowest, files);
    const stream = Readable.from(composeImage({ architecture, createdAtMs: now(), properties }, parts), {
      objectMode: false,
    });
    try {
      const made = await client.call({
        method: 'POST',
        path: '/images',
        content: {
          stream,
          headers: {
            'content-type': 'application/octet-stream',
            'x-incus-filename': `${stack}.tar`,
            'x-incus-properties': new URLSearchParams(properties).toString(),
          },
        },
        timeoutMs: UPLOAD_MS,
        operationMs: UPLOAD_MS,
      });
      const { fingerprint, size: sizeBytes } = readMadeImage(made);
      return { fingerprint, sizeBytes };
    } catch (error) {
      if (IncusError.is(error)) throw error;
      throw new DriverError('create_failed', 'The image of the sandbox could not be made.', {
        cause: error,
        detail: String(error),
      });
    }
  }

  async #parts(lowest: { tree: string } | undefined, files: readonly StoredLayer[]): Promise<ImagePart[]> {
    const { layers, agent, client, nameServers } = this.#options;
    const above = await Promise.all(
      files.map(async ({ id, image, sizeBytes }): Promise<ImagePart> => {
        if (image === undefined) return { open: () => layers.open(id), index: await layers.indexOf(id) };
        return { open: () => download(client, image, sizeBytes), within: 'rootfs/' };
      }),
    );
    return [
      ...(lowest === undefined ? [] : [{ open: () => tarOfTree(lowest.tree) }]),
      ...above,
      { open: () => networkFiles(nameServers), index: new Map(NETWORK_FILES) },
      { open: () => tarOfTree(agent, { ownedByRoot: true }), into: '.sbx/' },
    ];
  }
}

const NETWORK_FILES = [
  ['etc', 'directory'],
  ['etc/hosts', 'other'],
  ['etc/resolv.conf', 'other'],
] as const;

/** The files that a machine normally gets from its network, and that these machines get from nobody else. */
async function* networkFiles(nameServers: readonly string[]): AsyncGenerator<Buffer> {
  yield fileEntry('etc/hosts', '127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n');
  yield fileEntry('etc/resolv.conf', nameServers.map((server) => `nameserver ${server}\n`).join(''));
  yield TAR_END;
}

async function* download(client: IncusClient, fingerprint: string, maxBytes: number): AsyncGenerator<Buffer> {
  const signal = AbortSignal.timeout(UPLOAD_MS);
  let bytes = 0;
  for await (const chunk of await client.download({ path: `/images/${fingerprint}/export`, signal })) {
    bytes += (chunk as Buffer).length;
    if (bytes > maxBytes) throw new IncusError(0, 'Incus gives more of an image than there is.');
    yield chunk as Buffer;
  }
}

export function agentDirectory(dataDir: string): string {
  return join(dataDir, 'agents');
}

/** A layer that is an image, made by any driver. */
function layerOf(
  id: string,
  { fingerprint, size, properties }: Pick<WireImage, 'fingerprint' | 'size' | 'properties'>,
): StoredLayer {
  return { id, sizeBytes: size, full: true, image: fingerprint, agent: properties[imageKeys.agent] };
}
