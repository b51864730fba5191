import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { ArchiveLimits } from '@svc/runtime';
import { BuildError } from '../shared/build-error.js';
import type { LocalImage } from './image.js';
import { readLayer, verifyDigest } from './layer-stream.js';

interface Descriptor {
  mediaType?: string;
  digest?: string;
  platform?: { architecture?: string; os?: string };
  annotations?: Record<string, string>;
}

interface Index {
  manifests?: Descriptor[];
}

interface Manifest {
  config?: Descriptor;
  layers?: Descriptor[];
}

const REF_NAME = 'org.opencontainers.image.ref.name';
const MAX_JSON_BYTES = 16 * 1_048_576;

/** Reads an image in a directory with the OCI image layout. @throws {BuildError} */
export async function openOciLayout(
  directory: string,
  tag: string | undefined,
  limits: ArchiveLimits,
): Promise<LocalImage> {
  const index = JSON.parse(await readText(path.join(directory, 'index.json'))) as Index;
  let descriptor = chooseByTag(index.manifests ?? [], tag);
  for (let depth = 0; /index|manifest\.list/.test(descriptor.mediaType ?? ''); depth++) {
    if (depth > 4) throw new BuildError('the image has too many indexes in indexes');
    const nested = await readBlob<Index>(directory, descriptor);
    descriptor = chooseByPlatform(nested.manifests ?? []);
  }
  const manifest = await readBlob<Manifest>(directory, descriptor);
  if (manifest.config === undefined) throw new BuildError('the image has no configuration');
  const config = await readBlob<{ config?: { Env?: string[] } }>(directory, manifest.config);
  const files = (manifest.layers ?? []).map((layer) => [blobFile(directory, layer), layer.digest!] as const);
  for (const [file, digest] of files) await verifyDigest(file, digest);
  return {
    digest: descriptor.digest!,
    env: config.config?.Env ?? [],
    layers: files.map(
      ([file]) =>
        () =>
          readLayer(file, limits),
    ),
  };
}

function chooseByTag(manifests: Descriptor[], tag: string | undefined): Descriptor {
  const found =
    tag === undefined
      ? manifests.length === 1
        ? manifests[0]
        : (manifests.find((each) => each.annotations?.[REF_NAME] === 'latest') ?? undefined)
      : manifests.find((each) => each.annotations?.[REF_NAME] === tag);
  if (found !== undefined) return found;
  const known = manifests.map((each) => each.annotations?.[REF_NAME] ?? '(no tag)').join(', ');
  throw new BuildError(
    tag === undefined
      ? `the image layout holds several images: name one of ${known}`
      : `the image layout has no image with the tag '${tag}', but ${known || 'none'}`,
  );
}

function chooseByPlatform(manifests: Descriptor[]): Descriptor {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const found = manifests.find(
    ({ platform }) => platform?.architecture === architecture && (platform.os ?? 'linux') === 'linux',
  );
  if (found === undefined) throw new BuildError(`the image does not exist for linux/${architecture}`);
  return found;
}

function blobFile(directory: string, { digest }: Descriptor): string {
  if (digest === undefined || !/^sha256:[0-9a-f]{64}$/.test(digest))
    throw new BuildError('the image names a part without a sha256 digest');
  return path.join(directory, 'blobs', 'sha256', digest.slice('sha256:'.length));
}

async function readBlob<T>(directory: string, descriptor: Descriptor): Promise<T> {
  const text = await readText(blobFile(directory, descriptor));
  if (`sha256:${createHash('sha256').update(text).digest('hex')}` !== descriptor.digest)
    throw new BuildError(`the image is damaged: ${descriptor.digest} does not fit its content`);
  return JSON.parse(text) as T;
}

async function readText(file: string): Promise<string> {
  try {
    if ((await stat(file)).size > MAX_JSON_BYTES)
      throw new BuildError('a description in the image is too large');
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof BuildError) throw error;
    throw new BuildError('this is no complete OCI image layout: a part of it cannot be read');
  }
}
