import { createWriteStream } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ArchiveError, type ArchiveLimits } from '@svc/runtime/contract';
import { entryPath } from '../files/entry-path.js';
import { readTar } from '../files/tar.js';
import { BuildError } from '../shared/build.js';
import { readLayer } from './layer-stream.js';

/** Unpacks an image archive (plain or gzip) into an empty directory; files only, and links among them. */
export async function unpackArchive(
  file: string,
  directory: string,
  limits: ArchiveLimits,
  signal: AbortSignal,
): Promise<void> {
  const links: [file: string, target: string][] = [];
  try {
    for await (const { header, content, skip } of readTar(readLayer(file, limits), { limits })) {
      signal.throwIfAborted();
      const name = entryPath(header.name);
      if (name === undefined)
        throw new BuildError(`the image archive names '${header.name}', which leads out of it`);
      const target = path.join(directory, name);
      if (header.type === 'symlink') links.push([target, path.join(directory, aimOf(name, header.linkname))]);
      if (header.type !== 'file') {
        skip();
        continue;
      }
      await mkdir(path.dirname(target), { recursive: true });
      await pipeline(Readable.from(content), createWriteStream(target, { flags: 'wx' }), { signal });
    }
  } catch (error) {
    if (error instanceof BuildError || signal.aborted) throw error;
    if (ArchiveError.is(error)) throw new BuildError(`the image archive is refused: ${error.message}`);
    throw new BuildError('the image archive cannot be read as tar');
  }
  // Last, so that nothing is written through them.
  for (const [link, target] of links) {
    await mkdir(path.dirname(link), { recursive: true });
    await symlink(target, link);
  }
}

function aimOf(name: string, linkname: string): string {
  const aim = entryPath(path.posix.join(path.posix.dirname(name), linkname));
  if (aim === undefined) throw new BuildError('a link in the image archive leads out of it');
  return aim;
}
