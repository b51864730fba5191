import { readFile, stat } from 'node:fs/promises';
import { BuildError } from '../shared/build-error.js';
import { MAX_DESCRIPTION_BYTES } from './image.js';

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
