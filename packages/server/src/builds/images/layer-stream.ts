import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { PassThrough, type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import zlib from 'node:zlib';
import { BuildError } from '../build-error.js';

/**
 * Reads a layer's file as a plain tar stream; gzip and (where Node can) zstd are unpacked.
 * @param digest `sha256:...` of the file; the stream fails when it does not fit. Undefined: nothing is checked.
 */
export function readLayer(file: string, digest: string | undefined): Readable {
  const out = new PassThrough();
  const run = async () => {
    const unpack = await decoderFor(file);
    const source = createReadStream(file);
    await (unpack === undefined
      ? pipeline(source, checkedAgainst(digest), out)
      : pipeline(source, checkedAgainst(digest), unpack, out));
  };
  run().catch((error: Error) =>
    out.destroy(error instanceof BuildError ? error : new BuildError('a layer of the image cannot be read')),
  );
  return out;
}

async function decoderFor(file: string): Promise<Transform | undefined> {
  const handle = await open(file, 'r');
  const head = Buffer.alloc(4);
  try {
    await handle.read(head, 0, 4, 0);
  } finally {
    await handle.close();
  }
  if (head[0] === 0x1f && head[1] === 0x8b) return zlib.createGunzip();
  if (head.readUInt32LE(0) !== 0xfd2fb528) return undefined;
  const zstd = (zlib as { createZstdDecompress?: () => Transform }).createZstdDecompress;
  if (zstd === undefined)
    throw new BuildError(
      'a layer of the image is compressed by zstd, which this server cannot read: use gzip',
    );
  return zstd();
}

function checkedAgainst(digest: string | undefined): Transform {
  const hash = createHash('sha256');
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (digest !== undefined) hash.update(chunk);
      done(null, chunk);
    },
    flush(done) {
      const fits = digest === undefined || digest === `sha256:${hash.digest('hex')}`;
      done(fits ? null : new BuildError(`the image is damaged: a layer does not fit its digest ${digest}`));
    },
  });
}
