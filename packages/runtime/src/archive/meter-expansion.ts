import { Transform, type TransformCallback } from 'node:stream';
import {
  ArchiveError,
  type ArchiveLimits,
  DEFAULT_ARCHIVE_LIMITS,
  EXPANSION_FLOOR_BYTES,
} from './archive-limits.js';

/** Two streams for both sides of a decompressor, which fails once it expands its input too much. */
export interface ExpansionMeter {
  /** Goes in front of it. */
  compressed: Transform;
  /** Goes behind it. @throws {ArchiveError} `maxExpansion` or `maxBytes` */
  unpacked: Transform;
}

/** Measures how much a decompressor makes of its input. */
export function meterExpansion(
  limits: Pick<ArchiveLimits, 'maxBytes' | 'maxExpansion'> = DEFAULT_ARCHIVE_LIMITS,
): ExpansionMeter {
  let read = 0;
  let made = 0;
  const compressed = new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      read += chunk.length;
      done(null, chunk);
    },
  });
  const unpacked = new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      made += chunk.length;
      if (made > limits.maxBytes)
        done(new ArchiveError(`it has more than ${limits.maxBytes} bytes when it is unpacked`, 'maxBytes'));
      else if (made > EXPANSION_FLOOR_BYTES && made > read * limits.maxExpansion)
        done(
          new ArchiveError(
            `it becomes more than ${limits.maxExpansion} times larger when it is unpacked`,
            'maxExpansion',
          ),
        );
      else done(null, chunk);
    },
  });
  return { compressed, unpacked };
}
