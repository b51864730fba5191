import type { Readable } from 'node:stream';
import type { Pack } from 'tar-stream';
import { BuildError } from '../build-error.js';
import {
  addFile,
  type NewTarHeader,
  readTar,
  type TarEntry,
  type TarHeader,
  writeTar,
} from '../files/tar.js';
import type { LocalImage } from './image.js';
import { ImageTree, placeKey } from './image-tree.js';

/** Without these nothing runs, and some images have none of them. */
const NEEDED: [name: string, mode: number][] = [
  ['tmp', 0o1777],
  ['root', 0o700],
  ['run', 0o755],
];

/** Makes one tar stream of an image's layers: its whole file system. Reads each layer twice. @throws {BuildError} */
export async function squashImage(image: LocalImage, signal: AbortSignal): Promise<Readable> {
  const tree = new ImageTree();
  for (const [layer, open] of image.layers.entries()) {
    let index = 0;
    for await (const { header, skip } of entriesOf(open())) {
      signal.throwIfAborted();
      tree.add(header, { layer, entry: index++ });
      skip();
    }
    tree.endLayer();
  }
  const names = tree.names();
  return writeTar(async (packed) => {
    for (const [name, mode] of NEEDED) if (!tree.has(name)) packed.entry({ name, mode, type: 'directory' });
    for (const [layer, open] of image.layers.entries()) {
      let index = 0;
      for await (const entry of entriesOf(open())) {
        const paths = names.get(placeKey({ layer, entry: index++ }));
        if (paths === undefined) entry.skip();
        else await writeEntry(packed, entry, paths);
      }
    }
  });
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

async function* entriesOf(source: Readable): AsyncGenerator<TarEntry> {
  try {
    yield* readTar(source);
  } catch (error) {
    throw error instanceof BuildError ? error : new BuildError('a layer of the image cannot be read as tar');
  }
}
