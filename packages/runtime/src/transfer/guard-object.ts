import { ArchiveError, type ArchiveLimits, DEFAULT_ARCHIVE_LIMITS } from '../archive/archive-limits.js';
import { BlockReader } from '../archive/block-reader.js';
import {
  BLOCK_BYTES,
  isZeroBlock,
  readPaxRecords,
  readTarHeader,
  type TarHeader,
} from '../archive/tar-header.js';
import type { ObjectKind } from '../contract/transfers.js';

/** The allowed kind of an entry: `directory` and `file` alone, or `any` that file systems of sandboxes contain. */
type Rule = 'directory' | 'file' | 'any';

/** The meaning of names in an object of a kind. Undefined: such a name is not allowed. */
const RULES: Record<ObjectKind, (parts: readonly string[]) => Rule | undefined> = {
  agent: ruleBelow([]),
  base: ([first, ...rest]) =>
    first === 'base.json' && rest.length === 0
      ? 'file'
      : first === undefined
        ? 'directory'
        : ruleBelow(['root'])([first, ...rest]),
  layer: ruleBelow(['root']),
  checkpoint(parts) {
    const [first, second, third] = parts;
    // Images are read by programs of root: flat, and without links that lead out.
    if (first === 'img') return second === undefined ? 'directory' : third === undefined ? 'file' : undefined;
    return first === 'sv' && second !== undefined && third !== undefined
      ? 'any'
      : first === 'sv'
        ? 'directory'
        : undefined;
  },
};

/** Everything below one directory is allowed, which must be one. */
function ruleBelow(directory: readonly string[]): (parts: readonly string[]) => Rule | undefined {
  return (parts) => {
    const at = parts.slice(0, directory.length);
    if (directory.some((name, index) => at[index] !== name)) return undefined;
    return parts.length === directory.length ? 'directory' : 'any';
  };
}

const TYPE = { file: '0', link: '1', symlink: '2', character: '3', directory: '5', pipe: '6' } as const;

/** Records of extension headers that tar makes of what file systems keep. */
const RECORDS = new Set([
  ...['path', 'linkpath', 'size', 'mtime', 'uid', 'gid', 'uname', 'gname'],
  ...['SCHILY.acl.access', 'SCHILY.acl.default', 'SCHILY.realsize'],
  ...['major', 'minor', 'name', 'realsize'].map((name) => `GNU.sparse.${name}`),
]);
const ATTRIBUTE = 'SCHILY.xattr.';
/** Of overlays: others say where else the content of a file is. */
const TRUSTED = new Set(
  ['opaque', 'impure', 'redirect', 'protattr'].map((name) => `trusted.overlay.${name}`),
);

/**
 * Passes on the tar archive of a stored object as far as it is what such an object consists of: names below their place, no device
 * but the marks of removed files, links between files that stay inside.
 * @throws {ArchiveError} what is wrong with it
 */
export async function* guardObjectTar(
  source: AsyncIterable<Buffer>,
  kind: ObjectKind,
  limits: Pick<ArchiveLimits, 'maxBytes'>,
): AsyncGenerator<Buffer> {
  const { maxEntries, maxHeaderBytes } = DEFAULT_ARCHIVE_LIMITS;
  const reader = new BlockReader(source, limits.maxBytes);
  let entries = 0;
  try {
    for (;;) {
      const head = await readHead(reader, maxHeaderBytes);
      if (head === undefined) break;
      if (++entries > maxEntries)
        throw new ArchiveError(`it has more than ${maxEntries} entries`, 'maxEntries');
      requireEntry(kind, head);
      yield* head.blocks;
      yield* reader.body(head.sizeBytes);
    }
    yield Buffer.alloc(2 * BLOCK_BYTES);
    await reader.drain();
  } finally {
    await reader.close();
  }
}

interface Head {
  blocks: Buffer[];
  header: TarHeader;
  /** In the archive. */
  sizeBytes: number;
  name: string;
  target: string;
  device: string;
}

/** The headers of the next entry. Undefined at the end. */
async function readHead(reader: BlockReader, maxHeaderBytes: number): Promise<Head | undefined> {
  const block = await reader.block();
  if (block === undefined || isZeroBlock(block)) return undefined;
  const header = readTarHeader(block);
  if (header.type !== 'x') return headOf([block], header, new Map());
  if (header.sizeBytes > maxHeaderBytes)
    throw new ArchiveError(
      `the headers of one of its entries have more than ${maxHeaderBytes} bytes`,
      'maxHeaderBytes',
    );
  const body = await reader.whole(header.sizeBytes);
  const records = readPaxRecords(body.subarray(0, header.sizeBytes));
  const next = await reader.block();
  if (next === undefined || isZeroBlock(next)) throw new ArchiveError('it ends in the middle of an entry');
  return headOf([block, body, next], readTarHeader(next), records);
}

function headOf(blocks: Buffer[], header: TarHeader, records: Map<string, Buffer>): Head {
  for (const key of records.keys()) requireRecord(key);
  const text = (key: string) => records.get(key)?.toString('latin1');
  const size = text('size');
  if (size !== undefined && !/^(0|[1-9][0-9]{0,14})$/.test(size))
    throw new ArchiveError('a number in it is out of range');
  return {
    blocks,
    header,
    sizeBytes: size === undefined ? header.sizeBytes : Number(size),
    name: text('GNU.sparse.name') ?? text('path') ?? header.name.toString('latin1'),
    target: text('linkpath') ?? header.linkname.toString('latin1'),
    device: blocks.at(-1)!.toString('latin1', 329, 345).replaceAll(/[ \0]/g, ''),
  };
}

function requireRecord(key: string): void {
  const attribute = key.startsWith(ATTRIBUTE) ? key.slice(ATTRIBUTE.length) : undefined;
  const fine =
    attribute === undefined ? RECORDS.has(key) : !attribute.startsWith('trusted.') || TRUSTED.has(attribute);
  if (!fine) throw new ArchiveError(`it has an attribute that is not supported (${JSON.stringify(key)})`);
}

function requireEntry(kind: ObjectKind, { header, name, target, device, sizeBytes }: Head): void {
  const rule = RULES[kind](partsOf(name));
  if (rule === undefined) throw outside(name);
  const { type } = header;
  if (type !== TYPE.file && sizeBytes !== 0)
    throw new ArchiveError('a directory or link in it has a content');
  if (rule !== 'any') {
    if (type !== (rule === 'file' ? TYPE.file : TYPE.directory)) throw outside(name);
    return;
  }
  switch (type) {
    case TYPE.file:
    case TYPE.symlink:
    case TYPE.directory:
    case TYPE.pipe:
      return;
    case TYPE.link:
      if (RULES[kind](partsOf(target)) !== 'any') throw outside(target);
      return;
    case TYPE.character:
      if (/^0+$/.test(device)) return;
  }
  throw new ArchiveError(`it has an entry of the kind ${JSON.stringify(type)}, which is not supported`);
}

/** @throws {ArchiveError} for a path that leads out of where it begins */
function partsOf(name: string): string[] {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (name.startsWith('/') || name.includes('\0') || parts.includes('..')) throw outside(name);
  return parts;
}

function outside(name: string): ArchiveError {
  return new ArchiveError(`it has ${JSON.stringify(name.slice(0, 200))} where it does not belong`);
}
