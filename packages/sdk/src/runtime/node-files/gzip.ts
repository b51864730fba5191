import { createWriteStream, openAsBlob } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

/** Compresses into a temporary file, so that memory stays flat and the size is known before it is sent. */
export async function gzip(
  source: AsyncIterable<Uint8Array>,
): Promise<{ blob: Blob; dispose(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-archive-'));
  const dispose = () => rm(directory, { recursive: true, force: true });
  try {
    const path = join(directory, 'files.tar.gz');
    await pipeline(Readable.from(source), createGzip(), createWriteStream(path));
    return { blob: await openAsBlob(path), dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}
