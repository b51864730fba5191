import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import zlib from 'node:zlib';
import { ArchiveError, type ArchiveLimits, meterExpansion } from '@svc/runtime';
import { PIECE_BYTES } from '../files/tar.js';
import { BuildError } from '../shared/build-error.js';
import { zstdDecoder } from './zstd.js';

/**
 * Reads a layer's file as a plain tar stream; gzip and zstd are unpacked. Failures are
 * {@link BuildError}s and {@link ArchiveError}s of the stream.
 */
export function readLayer(file: string, limits: ArchiveLimits): Readable {
  const out = new PassThrough();
  const run = async () => {
    const unpack = await decoderFor(file);
    const source = createReadStream(file, { highWaterMark: PIECE_BYTES });
    const { compressed, unpacked } = meterExpansion(limits);
    await (unpack === undefined
      ? pipeline(source, out)
      : pipeline(source, compressed, unpack, unpacked, out));
  };
  run().catch((error: Error) =>
    out.destroy(
      error instanceof BuildError || ArchiveError.is(error)
        ? error
        : new BuildError('a layer of the image cannot be read'),
    ),
  );
  return out;
}

async function decoderFor(file: string) {
  const handle = await open(file, 'r');
  const head = Buffer.alloc(4);
  try {
    await handle.read(head, 0, 4, 0);
  } finally {
    await handle.close();
  }
  if (head[0] === 0x1f && head[1] === 0x8b) return zlib.createGunzip({ chunkSize: PIECE_BYTES });
  if (head.readUInt32LE(0) !== 0xfd2fb528) return undefined;
  return zstdDecoder();
}

/**
 * Compares a file with its digest, `sha256:...`.
 * @throws {BuildError} when it does not fit, or is not there
 */
export async function verifyDigest(file: string, digest: string): Promise<void> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(file), hash);
  } catch {
    throw new BuildError('this is no complete OCI image layout: a part of it cannot be read');
  }
  if (digest !== `sha256:${hash.digest('hex')}`)
    throw new BuildError(`the image is damaged: a layer does not fit its digest ${digest}`);
}
