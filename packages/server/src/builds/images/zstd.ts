import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import zlib from 'node:zlib';
import { BuildError } from '../shared/build-error.js';

type Unpack = NodeJS.ReadWriteStream | ((source: AsyncIterable<Buffer>) => AsyncIterable<Buffer>);

/** Unpacks zstd: Node itself from 22.15 on, else the program `zstd`. */
export function zstdDecoder(): Unpack {
  const create = (zlib as { createZstdDecompress?: () => NodeJS.ReadWriteStream }).createZstdDecompress;
  return create?.() ?? ((source) => unpackByProgram(source));
}

/**
 * Unpacks by a program that reads its input and prints what it unpacked.
 * @throws {BuildError} when it is not installed, or does not end well
 */
export async function* unpackByProgram(
  source: AsyncIterable<Buffer>,
  [program, ...words]: readonly [string, ...string[]] = ['zstd', '-dcq'],
): AsyncGenerator<Buffer> {
  const child = spawn(program, words, {
    stdio: ['pipe', 'pipe', 'ignore'],
    // It parses what strangers made: nothing of the server's own is handed on.
    env: { PATH: process.env.PATH ?? '' },
  });
  try {
    await once(child, 'spawn');
  } catch {
    throw new BuildError(
      'a layer of the image is compressed by zstd, which this server cannot read: install the program zstd (apt-get install zstd), or compress by gzip',
    );
  }
  const ended = once(child, 'close');
  ended.catch(() => undefined);
  // Where it ends early its code tells.
  const fed = pipeline(source, child.stdin).catch(() => undefined);
  try {
    yield* child.stdout as AsyncIterable<Buffer>;
    const [code] = (await ended) as [number | null];
    if (code !== 0) throw new BuildError('a layer of the image cannot be read');
  } finally {
    child.kill('SIGKILL');
    await fed;
  }
}
