import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { BuildError } from '../shared/build-error.js';

/**
 * The real path of an image on the server, which must lie in a directory that the operator allows.
 * @throws {BuildError} the same for what is missing and what is not allowed
 */
export async function allowedImagePath(wanted: string, directories: readonly string[]): Promise<string> {
  const real = await realpath(wanted).catch(() => undefined);
  for (const directory of directories) {
    const allowed = await realpath(directory).catch(() => undefined);
    if (real !== undefined && allowed !== undefined && real.startsWith(`${allowed}${path.sep}`)) return real;
  }
  throw new BuildError(
    `there is no image at '${wanted}' that builds may use: images on the server must lie in a directory that its operator allows (imageDirectories; by default 'images' in its data directory)`,
  );
}
