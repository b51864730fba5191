import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { pipeline as finished } from 'node:stream/promises';
import zlib from 'node:zlib';
import { ArchiveError, type ArchiveLimits, meterExpansion } from '@svc/runtime/contract';
import { PIECE_BYTES } from '../files/tar.js';
import { BuildError } from '../shared/build.js';
import { unpackByProgram } from './zstd.js';

/** Magic numbers of data frames, and of the sixteen kinds of frames that readers skip: pzstd begins with one. */
const ZSTD_FRAME = 0xfd2fb528;
const ZSTD_SKIPPABLE = 0x184d2a50;

/**
 * Reads a layer's file as a plain tar stream; gzip and zstd are unpacked. Failures are {@link BuildError}s and
 * {@link ArchiveError}s of the stream, clauses about "it".
 * @param diffId digest of all that is unpacked: a decoder may end early and take that for the end. Undefined: unknown.
 */
export function readLayer(file: string, limits: ArchiveLimits, diffId?: string): Readable {
  const chunks = unpackedChunks(file, limits, diffId);
  return Readable.from(chunks, { objectMode: false, highWaterMark: PIECE_BYTES });
}

type Chunks = AsyncIterable<Buffer>;

async function* unpackedChunks(
  file: string,
  limits: ArchiveLimits,
  diffId: string | undefined,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of await openUnpacked(file, limits)) {
      if (diffId !== undefined) hash.update(chunk);
      yield chunk;
    }
  } catch (error) {
    if (error instanceof BuildError || ArchiveError.is(error)) throw error;
    throw new BuildError('it cannot be read: it is damaged or was cut off');
  }
  if (diffId === undefined) return;
  const found = `sha256:${hash.digest('hex')}`;
  if (found !== diffId)
    throw new BuildError(
      `it unpacks to ${found}, and the image's configuration (rootfs.diff_ids) says ${diffId}: a part of it is missing, or it is another layer; build or pull the image again`,
    );
}

async function openUnpacked(file: string, limits: ArchiveLimits): Promise<Chunks> {
  const unpack = await decoderFor(file);
  const source = createReadStream(file, { highWaterMark: PIECE_BYTES });
  if (unpack === undefined) return source;
  const { compressed, unpacked } = meterExpansion(limits);
  // A failure comes out of the last stream.
  return pipeline(source, compressed, unpack, unpacked, () => {}) as unknown as Chunks;
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
  const magic = head.readUInt32LE(0);
  if (magic !== ZSTD_FRAME && (magic & ~0xf) >>> 0 !== ZSTD_SKIPPABLE) return undefined;
  return (packed: Chunks) => unpackByProgram(packed);
}

/**
 * Compares a file with its digest, `sha256:...`.
 * @throws {BuildError} when it does not fit, or is not there
 */
export async function verifyDigest(file: string, digest: string): Promise<void> {
  const hash = createHash('sha256');
  try {
    await finished(createReadStream(file), hash);
  } catch {
    throw new BuildError('this is no complete OCI image layout: a part of it cannot be read');
  }
  if (digest !== `sha256:${hash.digest('hex')}`)
    throw new BuildError(`the image is damaged: a layer does not fit its digest ${digest}`);
}
