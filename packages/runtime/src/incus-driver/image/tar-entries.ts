import { ArchiveError } from '../../archive/archive-limits.js';
import { BlockReader } from '../../archive/block-reader.js';
import { BLOCK_BYTES, isZeroBlock, readPaxRecords, readTarHeader } from '../../archive/tar-header.js';

/** One entry of a tar archive. Names are bytes as `latin1`, without `./` before and `/` behind. */
export interface TarEntry {
  /** Empty: the root itself. */
  path: string;
  type: string;
  /** Of links: where they lead. Of hard links this is another entry's path. */
  linkPath: string;
  sizeBytes: number;
  /** The header block as it was. */
  block: Buffer;
  /** Extended attributes and times; what names and sizes say is above. */
  pax: Map<string, Buffer>;
}

const NAMED_ABOVE = new Set(['path', 'linkpath']);
const MAX_ARCHIVE_BYTES = 64 * 2 ** 30;
const MAX_EXTENSION_BYTES = 2 ** 20;

/**
 * Reads an archive of our own making or one that `guardTar` has let through. `body` must be read before the next entry.
 * @throws {ArchiveError} for what is no tar archive.
 */
export async function* readTarEntries(
  source: AsyncIterable<Buffer>,
): AsyncGenerator<{ entry: TarEntry; body: AsyncIterable<Buffer> }> {
  const reader = new BlockReader(source, MAX_ARCHIVE_BYTES);
  try {
    let names: { path?: string; linkPath?: string } = {};
    let pax = new Map<string, Buffer>();
    for (;;) {
      const block = await reader.block();
      if (block === undefined || isZeroBlock(block)) break;
      const header = readTarHeader(block);
      if ('xgLK'.includes(header.type)) {
        if (header.sizeBytes > MAX_EXTENSION_BYTES) throw new ArchiveError('a header in it is too long');
        const body = (await reader.whole(header.sizeBytes)).subarray(0, header.sizeBytes);
        if (header.type === 'x') pax = readPaxRecords(body);
        if (header.type === 'L') names.path = untilZero(body);
        if (header.type === 'K') names.linkPath = untilZero(body);
        continue;
      }
      const size = pax.get('size');
      const sizeBytes = size === undefined ? header.sizeBytes : Number(size.toString('latin1'));
      const linkName =
        pax.get('linkpath')?.toString('latin1') ?? names.linkPath ?? header.linkname.toString('latin1');
      const entry: TarEntry = {
        path: plainPath(pax.get('path')?.toString('latin1') ?? names.path ?? header.name.toString('latin1')),
        type: header.type === '7' ? '0' : header.type,
        linkPath: header.type === '1' ? plainPath(linkName) : linkName,
        sizeBytes,
        block,
        pax: new Map([...pax].filter(([key]) => !NAMED_ABOVE.has(key))),
      };
      names = {};
      pax = new Map();
      const body = reader.body(sizeBytes);
      yield { entry, body };
      // A body that nobody read blocks the next entry.
      for await (const _ of body);
    }
    await reader.drain();
  } finally {
    await reader.close();
  }
}

/** The headers of an entry under another name, in the form that every tar reads. Pure. */
export function headersOf(entry: TarEntry, path: string, linkPath = entry.linkPath): Buffer {
  const name = entry.type === '5' ? `${path}/` : path;
  const block = Buffer.from(entry.block);
  // Name, link and, in POSIX archives, the prefix; GNU's keep times there, which the end of the block repeats.
  block.fill(0, 0, 100).fill(0, 157, 257).fill(0, 345, 500);
  block.write(name.slice(0, 100), 0, 'latin1');
  block.write(linkPath.slice(0, 100), 157, 'latin1');
  writeChecksum(block);
  return Buffer.concat([
    ...(entry.pax.size === 0 ? [] : [extension('x', paxBody(entry.pax))]),
    ...(linkPath.length > 100 ? [extension('K', Buffer.from(`${linkPath}\0`, 'latin1'))] : []),
    ...(name.length > 100 ? [extension('L', Buffer.from(`${name}\0`, 'latin1'))] : []),
    block,
  ]);
}

/** A whole small file as an archive without an end. Pure. */
export function fileEntry(path: string, content: string, mode = 0o644): Buffer {
  const body = Buffer.from(content);
  return Buffer.concat([plainHeader(path, '0', body.length, mode), padded(body)]);
}

/** The end of an archive. */
export const TAR_END = Buffer.alloc(2 * BLOCK_BYTES);

function extension(type: string, body: Buffer): Buffer {
  return Buffer.concat([plainHeader('././@LongLink', type, body.length, 0o644), padded(body)]);
}

function plainHeader(name: string, type: string, sizeBytes: number, mode: number): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  block.write(name, 0, 100, 'latin1');
  const octal = (value: number, at: number, length: number) =>
    block.write(value.toString(8).padStart(length - 1, '0'), at, 'latin1');
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(sizeBytes, 124, 12);
  octal(0, 136, 12);
  block.write(type, 156, 'latin1');
  block.write('ustar\0' + '00', 257, 'latin1');
  writeChecksum(block);
  return block;
}

function writeChecksum(block: Buffer): void {
  block.fill(0x20, 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
}

function paxBody(records: Map<string, Buffer>): Buffer {
  return Buffer.concat(
    [...records].map(([key, value]) => {
      const rest = Buffer.concat([Buffer.from(` ${key}=`), value, Buffer.from('\n')]);
      // The length counts its own digits.
      let length = rest.length + 1;
      while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
      return Buffer.concat([Buffer.from(String(length)), rest]);
    }),
  );
}

function padded(body: Buffer): Buffer {
  return Buffer.concat([body, Buffer.alloc((BLOCK_BYTES - (body.length % BLOCK_BYTES)) % BLOCK_BYTES)]);
}

function plainPath(name: string): string {
  return name
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/');
}

function untilZero(body: Buffer): string {
  const end = body.indexOf(0);
  return (end < 0 ? body : body.subarray(0, end)).toString('latin1');
}
