import type { Readable } from 'node:stream';
import { ArchiveError, type ArchiveLimits } from '@svc/runtime/contract';
import type { Pack } from 'tar-stream';
import {
  addFile,
  type NewTarHeader,
  readTar,
  type TarEntry,
  type TarHeader,
  writeTar,
} from '../files/tar.js';
import { BuildError } from '../shared/build.js';
import { type LocalImage, MAX_LAYERS } from './image.js';
import { ImageTree, placeKey } from './image-tree.js';

/** Nothing runs without these directories, which are missing in some images. */
const NEEDED: [name: string, mode: number][] = [
  ['tmp', 0o1777],
  ['root', 0o700],
  ['run', 0o755],
];

/**
 * Makes one tar stream of an image's layers: its whole file system. Reads each layer twice.
 * @throws {BuildError} also for an image that goes beyond the limits, its layers taken together.
 */
export async function squashImage(
  image: LocalImage,
  limits: ArchiveLimits,
  signal: AbortSignal,
): Promise<Readable> {
  if (image.layers.length > MAX_LAYERS)
    throw new BuildError(`the image is refused: it has more than ${MAX_LAYERS} layers`);
  const nameOf = (layer: number) => `layer ${layer + 1} of ${image.layers.length}`;
  const tree = new ImageTree();
  const together = { entries: 0, namesBytes: 0, bytes: 0 };
  for (const [layer, open] of image.layers.entries()) {
    let index = 0;
    for await (const { header, skip } of entriesOf(open(), limits, nameOf(layer))) {
      signal.throwIfAborted();
      together.entries += 1;
      together.namesBytes += header.name.length + (header.linkname?.length ?? 0);
      together.bytes += header.size ?? 0;
      requireWithin(together, limits);
      tree.add(header, { layer, entry: index++ });
      skip();
    }
    await tree.endLayer();
  }
  const names = tree.names();
  return writeTar(async (packed) => {
    for (const [name, mode] of NEEDED) if (!tree.has(name)) packed.entry({ name, mode, type: 'directory' });
    for (const [layer, open] of image.layers.entries()) {
      let index = 0;
      for await (const entry of entriesOf(open(), limits, nameOf(layer))) {
        const paths = names.get(placeKey({ layer, entry: index++ }));
        if (paths === undefined) entry.skip();
        else await writeEntry(packed, entry, paths);
      }
    }
  });
}

/** Limit for all layers together; each layer has its own while it is read. */
function requireWithin(
  { entries, namesBytes, bytes }: { entries: number; namesBytes: number; bytes: number },
  { maxEntries, maxNamesBytes, maxBytes }: ArchiveLimits,
): void {
  const refuse = (what: string, limit: keyof ArchiveLimits) =>
    new BuildError(`the image is refused: its layers have more than ${what} together (${limit})`);
  if (entries > maxEntries) throw refuse(`${maxEntries} entries`, 'maxEntries');
  if (namesBytes > maxNamesBytes) throw refuse(`${maxNamesBytes} bytes of names`, 'maxNamesBytes');
  if (bytes > maxBytes) throw refuse(`${maxBytes} bytes`, 'maxBytes');
}

async function writeEntry(packed: Pack, entry: TarEntry, paths: string[]): Promise<void> {
  const [first, ...links] = paths;
  const header = headerOf(entry.header, first!);
  if (header.type === 'file') await addFile(packed, header, entry.content);
  else {
    entry.skip();
    packed.entry(header);
  }
  for (const name of links) packed.entry({ ...header, name, type: 'link', linkname: first!, size: 0 });
}

function headerOf({ mode, uid, gid, mtime, type, linkname, size }: TarHeader, name: string): NewTarHeader {
  const common = { name, mode: mode & 0o7777, uid, gid, mtime };
  if (type === 'directory') return { ...common, type };
  if (type === 'symlink') return { ...common, type, linkname };
  return { ...common, type: 'file', size };
}

async function* entriesOf(source: Readable, limits: ArchiveLimits, name: string): AsyncGenerator<TarEntry> {
  try {
    yield* readTar(source, { limits });
  } catch (error) {
    const reason =
      ArchiveError.is(error) || error instanceof BuildError ? error.message : 'it cannot be read as tar';
    throw new BuildError(`the image is refused: ${name}: ${reason}`);
  }
}
