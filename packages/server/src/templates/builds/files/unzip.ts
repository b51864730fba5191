import { createReadStream } from 'node:fs';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { type ArchiveLimits, meterExpansion } from '@svc/runtime';
import { PIECE_BYTES } from './tar.js';

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
