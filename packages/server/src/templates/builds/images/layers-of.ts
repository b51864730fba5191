import type { Readable } from 'node:stream';
import type { ArchiveLimits } from '@svc/runtime/contract';
import { BuildError } from '../shared/build.js';
import { MAX_LAYERS } from './image.js';
import type { ImageJson } from './image-json.js';
import { readLayer } from './layer-stream.js';

/**
 * Returns the layers of an image, each of which must unpack to what the configuration says.
 * @param files of its layers, as the manifest lists them
 * @throws {BuildError} when configuration and manifest do not list the same layers
 */
export function layersOf(
  config: ImageJson,
  files: readonly string[],
  limits: ArchiveLimits,
): (() => Readable)[] {
  if (files.length > MAX_LAYERS)
    throw new BuildError(`the image is refused: it has more than ${MAX_LAYERS} layers`);
  const diffIds = config.get('rootfs').get('diff_ids').list();
  if (diffIds.length !== files.length)
    throw new BuildError(
      `the image is damaged: its manifest lists ${files.length} layers, and its configuration ${diffIds.length} (rootfs.diff_ids); build or pull it again`,
    );
  return files.map((file, index) => {
    const diffId = diffIds[index]!.text();
    if (diffId === undefined || !/^sha256:[0-9a-f]{64}$/.test(diffId))
      throw new BuildError(
        `the image is damaged: layer ${index + 1} of ${files.length} has no sha256 digest in the configuration (rootfs.diff_ids)`,
      );
    return () => readLayer(file, limits, diffId);
  });
}
