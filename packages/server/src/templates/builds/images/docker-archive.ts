import { createHash } from 'node:crypto';
import path from 'node:path';
import type { ArchiveLimits } from '@svc/runtime/contract';
import { entryPath } from '../files/entry-path.js';
import { BuildError } from '../shared/build.js';
import type { LocalImage } from './image.js';
import { readDescription } from './image.js';
import { ImageJson } from './image-json.js';
import { layersOf } from './layers-of.js';

/** Reads an unpacked `docker save` archive. @param tag `name:tag`; undefined: the only image. @throws {BuildError} */
export async function openDockerArchive(
  directory: string,
  tag: string | undefined,
  limits: ArchiveLimits,
): Promise<LocalImage> {
  const images = ImageJson.parse(await read(directory, 'manifest.json')).list();
  const image =
    tag === undefined
      ? images.length === 1
        ? images[0]
        : undefined
      : images.find((each) =>
          each
            .get('RepoTags')
            .texts()
            .some((name) => name === tag || name === `${tag}:latest`),
        );
  const configFile = image?.get('Config').text();
  if (image === undefined || configFile === undefined) {
    const known = images.flatMap((each) => each.get('RepoTags').texts()).join(', ');
    throw new BuildError(
      `the archive has no image ${tag === undefined ? 'of its own' : `'${tag}'`}, but: ${known || 'none'}`,
    );
  }
  const text = await read(directory, configFile);
  const config = ImageJson.parse(text);
  const files = image
    .get('Layers')
    .texts()
    .map((layer) => inside(directory, layer));
  return {
    digest: `sha256:${createHash('sha256').update(text).digest('hex')}`,
    env: config.get('config').get('Env').texts(),
    layers: layersOf(config, files, limits),
  };
}

function inside(directory: string, name: string): string {
  const relative = entryPath(name);
  if (!relative) throw new BuildError('the archive names a part outside of itself');
  return path.join(directory, relative);
}

function read(directory: string, name: string): Promise<string> {
  return readDescription(inside(directory, name), 'docker archive');
}
