import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { type ArchiveLimits, type GuardOptions, guardTar, meterExpansion } from '@svc/runtime/contract';
import { extract, type Header, type Pack, pack } from 'tar-stream';

export type TarHeader = Header;
/** A header to write: what is missing gets the format's defaults. */
export type NewTarHeader = Partial<Header> & Pick<Header, 'name'>;

/** Bytes of an archive that are read, unpacked or passed on at once: each piece costs several turns of the event loop. */
export const PIECE_BYTES = 256 * 1024;

export interface TarEntry {
  header: TarHeader;
  /** Its bytes; must be read to the end or skipped before the next entry comes. */
  content: AsyncIterable<Buffer>;
  skip(): void;
}

/**
 * The entries of a plain tar stream, one after another, within limits. The source ends with the iteration.
 * @throws {ArchiveError} what is wrong with the archive, or the limit that it goes beyond.
 */
export async function* readTar(source: Readable, options: GuardOptions): AsyncGenerator<TarEntry> {
  const entries = extract();
  const feed = async () => {
    for await (const chunk of guardTar(source, options)) {
      if (!entries.write(chunk)) await new Promise<void>((resolve) => entries.once('drain', () => resolve()));
    }
    entries.end(undefined);
  };
  feed().catch((error: Error) => entries.destroy(error));
  try {
    for await (const entry of entries)
      yield {
        header: entry.header,
        content: entry as AsyncIterable<Buffer>,
        skip: () => void entry.resume(),
      };
  } finally {
    source.destroy();
  }
}

/** Writes a tar stream by entries. A failure of `write` destroys the stream with its error. */
export function writeTar(write: (packed: Pack) => Promise<void>): Readable {
  const packed = pack();
  write(packed).then(
    () => packed.finalize(),
    (error: Error) => packed.destroy(error),
  );
  return Readable.from(inLargePieces(packed as AsyncIterable<Buffer>), {
    objectMode: false,
    highWaterMark: PIECE_BYTES,
  });
}

/** Joins headers, contents and padding into pieces that are worth passing on. */
async function* inLargePieces(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of source) {
    pieces.push(piece);
    size += piece.length;
    if (size < PIECE_BYTES) continue;
    yield pieces.length === 1 ? piece : Buffer.concat(pieces, size);
    pieces = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(pieces, size);
}

/** Adds a file with its content. */
export async function addFile(
  packed: Pack,
  header: NewTarHeader,
  content: AsyncIterable<Buffer>,
): Promise<void> {
  const sink = packed.entry(header);
  for await (const chunk of content) {
    if (!sink.write(chunk)) await new Promise<void>((resolve) => sink.once('drain', () => resolve()));
  }
  sink.end(undefined);
}

/** Reads a gzip-compressed file as far as it does not expand too much. Failures reach the reader: {@link ArchiveError}. */
export function unzipped(file: string, limits: ArchiveLimits): Readable {
  const { compressed, unpacked } = meterExpansion(limits);
  // Errors of each reach the reader of the last.
  return pipeline(
    createReadStream(file, { highWaterMark: PIECE_BYTES }),
    compressed,
    createGunzip({ chunkSize: PIECE_BYTES }),
    unpacked,
    () => {},
  );
}
