import type { Readable } from 'node:stream';
import { Transform } from 'node:stream';
import { DriverError } from '../../contract/errors.js';

/** Passes on the announced number of bytes, regardless of what the other side sends: never more, and fewer are an error. */
export function exactly(source: Readable, sizeBytes: number): Transform {
  let left = sizeBytes;
  const limited = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const part = chunk.subarray(0, left);
      left -= part.length;
      done(null, part.length > 0 ? part : undefined);
    },
    flush(done) {
      done(left === 0 ? null : broken());
    },
  });
  source.once('error', (error) => limited.destroy(error));
  limited.once('close', () => source.destroy());
  return source.pipe(limited);
}

function broken(): DriverError {
  return new DriverError('unreachable', 'The file broke off.');
}
