import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { ArchiveLimits } from '@svc/runtime';
import { entryPath } from '../files/entry-path.js';
import { BuildError } from '../shared/build-error.js';
import type { LocalImage } from './image.js';
import { readLayer } from './layer-stream.js';

interface SavedImage {
  Config?: string;
  RepoTags?: string[] | null;
  Layers?: string[];
}

/** Reads an unpacked `docker save` archive. @param tag `name:tag`; undefined: the only image. @throws {BuildError} */
export async function openDockerArchive(
  directory: string,
  tag: string | undefined,
  limits: ArchiveLimits,
): Promise<LocalImage> {
  const images = JSON.parse(await read(directory, 'manifest.json')) as SavedImage[];
  const image =
    tag === undefined
      ? images.length === 1
        ? images[0]
        : undefined
      : images.find((each) => each.RepoTags?.some((name) => name === tag || name === `${tag}:latest`));
  if (image?.Config === undefined) {
    const known = images.flatMap((each) => each.RepoTags ?? []).join(', ');
    throw new BuildError(
      `the archive has no image ${tag === undefined ? 'of its own' : `'${tag}'`}, but: ${known || 'none'}`,
    );
  }
  const text = await read(directory, image.Config);
  const config = JSON.parse(text) as { config?: { Env?: string[] | null }; rootfs?: { diff_ids?: string[] } };
  return {
    digest: `sha256:${createHash('sha256').update(text).digest('hex')}`,
    env: config.config?.Env ?? [],
    layers: (image.Layers ?? []).map((layer) => {
      const file = inside(directory, layer);
      return () => readLayer(file, limits);
    }),
  };
}

function inside(directory: string, name: string): string {
  const relative = entryPath(name);
  if (!relative) throw new BuildError('the archive names a part outside of itself');
  return path.join(directory, relative);
}

async function read(directory: string, name: string): Promise<string> {
  try {
    return await readFile(inside(directory, name), 'utf8');
  } catch (error) {
    if (error instanceof BuildError) throw error;
    throw new BuildError('this is no complete docker archive: a part of it cannot be read');
  }
}
