import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { ArchiveLimits } from '@svc/runtime/contract';
import { BuildError, OWN_ARCHITECTURE } from '../shared/build.js';
import type { LocalImage } from './image.js';
import { readDescription } from './image.js';
import { ImageJson } from './image-json.js';
import { verifyDigest } from './layer-stream.js';
import { layersOf } from './layers-of.js';

const REF_NAME = 'org.opencontainers.image.ref.name';

/** Reads an image in a directory with the OCI image layout. @throws {BuildError} */
export async function openOciLayout(
  directory: string,
  tag: string | undefined,
  limits: ArchiveLimits,
): Promise<LocalImage> {
  const index = ImageJson.parse(await readText(path.join(directory, 'index.json')));
  let descriptor = chooseByTag(index.get('manifests').list(), tag);
  for (let depth = 0; /index|manifest\.list/.test(descriptor.get('mediaType').text() ?? ''); depth++) {
    if (depth > 4) throw new BuildError('the image has too many indexes in indexes');
    const nested = await readBlob(directory, descriptor);
    descriptor = chooseByPlatform(nested.get('manifests').list());
  }
  const manifest = await readBlob(directory, descriptor);
  if (!manifest.get('config').exists) throw new BuildError('the image has no configuration');
  const config = await readBlob(directory, manifest.get('config'));
  requirePlatform(config);
  const descriptors = manifest.get('layers').list();
  const files = descriptors.map((each) => blobFile(directory, digestOf(each)));
  const layers = layersOf(config, files, limits);
  for (const [index, each] of descriptors.entries()) {
    requireHere(files[index]!, each);
    await verifyDigest(files[index]!, digestOf(each));
  }
  return { digest: digestOf(descriptor), env: config.get('config').get('Env').texts(), layers };
}

/** Tools leave out layers that their makers do not let others hand on, and the rest of the image is complete. */
function requireHere(file: string, descriptor: ImageJson): void {
  const mediaType = descriptor.get('mediaType').text() ?? '';
  if (/nondistributable|foreign/.test(mediaType) && !existsSync(file))
    throw new BuildError(
      `the image has a layer that is kept elsewhere, ${digestOf(descriptor)} (${mediaType.slice(0, 100)}): such layers are not fetched`,
    );
}

function chooseByTag(manifests: ImageJson[], tag: string | undefined): ImageJson {
  const found =
    tag === undefined
      ? manifests.length === 1
        ? manifests[0]
        : (manifests.find((each) => each.get('annotations').get(REF_NAME).text() === 'latest') ?? undefined)
      : manifests.find((each) => each.get('annotations').get(REF_NAME).text() === tag);
  if (found !== undefined) return found;
  const known = manifests
    .map((each) => each.get('annotations').get(REF_NAME).text() ?? '(no tag)')
    .join(', ');
  throw new BuildError(
    tag === undefined
      ? `the image layout holds several images: name one of ${known}`
      : `the image layout has no image with the tag '${tag}', but ${known || 'none'}`,
  );
}

/** An image that no index names a platform for says itself what it was made for. */
function requirePlatform(config: ImageJson): void {
  const os = config.get('os').text() ?? 'linux';
  const architecture = config.get('architecture').text() ?? OWN_ARCHITECTURE;
  if (architecture !== OWN_ARCHITECTURE || os !== 'linux')
    throw new BuildError(
      `the image is made for ${`${os}/${architecture}`.slice(0, 100)}, and this server runs linux/${OWN_ARCHITECTURE}`,
    );
}

function chooseByPlatform(manifests: ImageJson[]): ImageJson {
  const found = manifests.find(
    (each) =>
      each.get('platform').get('architecture').text() === OWN_ARCHITECTURE &&
      (each.get('platform').get('os').text() ?? 'linux') === 'linux',
  );
  if (found === undefined) throw new BuildError(`the image does not exist for linux/${OWN_ARCHITECTURE}`);
  return found;
}

function digestOf(descriptor: ImageJson): string {
  const digest = descriptor.get('digest').text();
  if (digest === undefined || !/^sha256:[0-9a-f]{64}$/.test(digest))
    throw new BuildError('the image names a part without a sha256 digest');
  return digest;
}

function blobFile(directory: string, digest: string): string {
  return path.join(directory, 'blobs', 'sha256', digest.slice('sha256:'.length));
}

async function readBlob(directory: string, descriptor: ImageJson): Promise<ImageJson> {
  const digest = digestOf(descriptor);
  const text = await readText(blobFile(directory, digest));
  if (`sha256:${createHash('sha256').update(text).digest('hex')}` !== digest)
    throw new BuildError(`the image is damaged: ${digest} does not fit its content`);
  return ImageJson.parse(text);
}

function readText(file: string): Promise<string> {
  return readDescription(file, 'OCI image layout');
}
