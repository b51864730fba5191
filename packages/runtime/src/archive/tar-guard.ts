import { ArchiveError, type ArchiveLimits, DEFAULT_ARCHIVE_LIMITS } from './archive-limits.js';
import { BlockReader } from './block-reader.js';
import { BLOCK_BYTES, isZeroBlock, readPaxRecords, readTarHeader, type TarHeader } from './tar-header.js';

/** Extension headers: of the next entry (pax, and GNU's long name and long link target). */
const EXTENSIONS = new Set(['x', 'L', 'K']);
const FILES = new Set(['0', '7']);
const LINKS_AND_DIRECTORIES = new Set(['1', '2', '5']);
/** Character and block devices, pipes: an image never needs them, its sandbox has its own. */
const SPECIAL = new Set(['3', '4', '6']);
const END = Buffer.alloc(2 * BLOCK_BYTES);
/** The least number of bytes that is passed on at once. */
const PIECE_BYTES = 65_536;

export interface GuardOptions {
  /** Default {@link DEFAULT_ARCHIVE_LIMITS}, each. */
  limits?: Partial<ArchiveLimits> | undefined;
  /** The treatment of devices and pipes. Default `leave-out`. */
  special?: 'leave-out' | 'refuse';
}

/**
 * Passes on a plain tar archive as far as it is harmless to read: bounded in every direction, of files, directories and
 * links alone. Global headers are left out; what readers understand differently is refused. Where links lead and names
 * lie is not its matter. Never holds more than one entry's extension headers in memory.
 * @throws {ArchiveError} what is wrong with it, or the limit that it goes beyond.
 */
export async function* guardTar(
  source: AsyncIterable<Buffer>,
  options: GuardOptions = {},
): AsyncGenerator<Buffer> {
  const limits = { ...DEFAULT_ARCHIVE_LIMITS, ...options.limits };
  const reader = new BlockReader(source, limits.maxBytes);
  const tally = new NameTally(limits);
  const out = new Outbox();
  try {
    for (;;) {
      const entry = await readEntry(reader, limits, tally);
      if (entry === undefined) break;
      const { blocks, header, sizeBytes } = entry;
      const special = SPECIAL.has(header.type);
      if (special && options.special === 'refuse')
        throw new ArchiveError('it has an entry that is neither a file nor a directory nor a link');
      const kept = header.type !== 'g' && !special;
      if (kept) out.push(...blocks);
      const body = reader.bodyNow(sizeBytes);
      if (body !== undefined) {
        if (kept) out.push(body);
      } else
        for await (const chunk of reader.body(sizeBytes)) {
          if (kept) out.push(chunk);
          if (out.isFull) yield out.take();
        }
      if (out.isFull) yield out.take();
    }
    out.push(END);
    yield out.take();
    // Bytes after the end are ignored, but their sender waits until they are read.
    await reader.drain();
  } finally {
    await reader.close();
  }
}

interface Entry {
  /** Its headers as they arrived. */
  blocks: Buffer[];
  header: TarHeader;
  sizeBytes: number;
}

/** Reads the headers of the next entry. Undefined at the end of the archive. */
async function readEntry(
  reader: BlockReader,
  limits: Readonly<ArchiveLimits>,
  tally: NameTally,
): Promise<Entry | undefined> {
  const blocks: Buffer[] = [];
  let extensionBytes = 0;
  let paxSize: number | undefined;
  let directory = false;
  for (;;) {
    const block = await reader.block();
    if (block === undefined && reader.empty) throw new ArchiveError('it is empty');
    if (block === undefined || isZeroBlock(block)) {
      if (blocks.length > 0) throw new ArchiveError('it ends in the middle of an entry');
      // An archive that was cut off between two entries looks whole but for its end.
      const second = block && (await reader.block());
      if (second === undefined || !isZeroBlock(second))
        throw new ArchiveError('it was cut off: the two empty blocks at its end are missing');
      return undefined;
    }
    const header = readTarHeader(block);
    if (EXTENSIONS.has(header.type)) {
      extensionBytes += BLOCK_BYTES + header.sizeBytes;
      if (extensionBytes > limits.maxHeaderBytes)
        throw new ArchiveError(
          `the headers of one of its entries have more than ${limits.maxHeaderBytes} bytes`,
          'maxHeaderBytes',
        );
      const padded = await reader.whole(header.sizeBytes);
      const body = padded.subarray(0, header.sizeBytes);
      if (header.type === 'x') {
        const pax = readPax(body, tally);
        paxSize = pax.size ?? paxSize;
        directory ||= pax.directory;
      } else {
        tally.name(untilZero(body));
        directory ||= header.type === 'L' && endsInSlash(untilZero(body));
      }
      blocks.push(block, padded);
      continue;
    }
    tally.entry(header);
    const sizeBytes = paxSize ?? header.sizeBytes;
    requireKnownType(header.type, sizeBytes);
    // Older archives mark directories only by the slash at the end of their name.
    if ((directory || endsInSlash(header.name)) && sizeBytes !== 0) throw contentRefused();
    return { blocks: [...blocks, block], header, sizeBytes };
  }
}

/** Checks a pax header. @returns the size that it gives the entry, if any, and whether its name is a directory's */
function readPax(body: Buffer, tally: NameTally): { size: number | undefined; directory: boolean } {
  const records = readPaxRecords(body);
  let size: number | undefined;
  for (const [key, value] of records) {
    if (key.startsWith('GNU.sparse.')) throw new ArchiveError('it has a sparse file, which is not supported');
    if (key === 'path' || key === 'linkpath') tally.name(value);
    if (key !== 'size') continue;
    const text = value.toString('latin1');
    if (!/^(0|[1-9][0-9]{0,15})$/.test(text) || !Number.isSafeInteger(Number(text)))
      throw new ArchiveError('a number in it is out of range');
    size = Number(text);
  }
  return { size, directory: endsInSlash(records.get('path') ?? Buffer.alloc(0)) };
}

function endsInSlash(name: Buffer): boolean {
  return name.at(-1) === 0x2f;
}

function contentRefused(): ArchiveError {
  return new ArchiveError('a directory or link in it has a content');
}

function requireKnownType(type: string, sizeBytes: number): void {
  if (FILES.has(type) || type === 'g') return;
  if (!LINKS_AND_DIRECTORIES.has(type) && !SPECIAL.has(type))
    throw new ArchiveError(`it has an entry of the kind ${JSON.stringify(type)}, which is not supported`);
  // Some readers skip such a body, some take it for the next header.
  if (sizeBytes !== 0) throw contentRefused();
}

function untilZero(body: Buffer): Buffer {
  const end = body.indexOf(0);
  return end < 0 ? body : body.subarray(0, end);
}

/** Collects small pieces: each that is passed on costs a turn of the event loop. */
class Outbox {
  #pieces: Buffer[] = [];
  #bytes = 0;

  get isFull(): boolean {
    return this.#bytes >= PIECE_BYTES;
  }

  push(...pieces: Buffer[]): void {
    this.#pieces.push(...pieces);
    for (const piece of pieces) this.#bytes += piece.length;
  }

  take(): Buffer {
    const all = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    return all;
  }
}

/** Counts entries and the bytes of their names. */
class NameTally {
  readonly #limits: Readonly<ArchiveLimits>;
  #entries = 0;
  #bytes = 0;

  constructor(limits: Readonly<ArchiveLimits>) {
    this.#limits = limits;
  }

  entry({ name, linkname }: TarHeader): void {
    if (++this.#entries > this.#limits.maxEntries)
      throw new ArchiveError(`it has more than ${this.#limits.maxEntries} entries`, 'maxEntries');
    this.name(name);
    this.name(linkname);
  }

  /** Of an entry or a link's target. */
  name(name: Buffer): void {
    const { maxNameBytes, maxNamesBytes, maxDepth } = this.#limits;
    if (name.length > maxNameBytes)
      throw new ArchiveError(`a name in it has more than ${maxNameBytes} bytes`, 'maxNameBytes');
    if (name.includes(0)) throw new ArchiveError('a name in it has a zero byte');
    this.#bytes += name.length;
    if (this.#bytes > maxNamesBytes)
      throw new ArchiveError(`its names have more than ${maxNamesBytes} bytes together`, 'maxNamesBytes');
    let slashes = 0;
    for (const byte of name) if (byte === 0x2f) slashes += 1;
    if (slashes >= maxDepth)
      throw new ArchiveError(`a path in it has more than ${maxDepth} parts`, 'maxDepth');
  }
}
