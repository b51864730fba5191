import { readFile, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { BuildError } from '../shared/build.js';

/** An image whose files lie on this machine. */
export interface LocalImage {
  /** Names the content: equal images have equal ones. */
  digest: string;
  /** `NAME=value` of the image's configuration. */
  env: string[];
  /** Layers from the lowest up; each call reads one anew, as a plain tar stream. */
  layers: (() => Readable)[];
}

/** More than any tool makes. */
export const MAX_LAYERS = 512;

/** Largest description in an image. */
const MAX_DESCRIPTION_BYTES = 16 * 1_048_576;

/** Reads a description in an image. @param format what the image is, "docker archive". @throws {BuildError} */
export async function readDescription(file: string, format: string): Promise<string> {
  try {
    if ((await stat(file)).size > MAX_DESCRIPTION_BYTES)
      throw new BuildError('a description in the image is too large');
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof BuildError) throw error;
    throw new BuildError(`this is no complete ${format}: a part of it cannot be read`);
  }
}
