import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import { BuildError } from '../shared/build.js';

/**
 * Unpacks zstd by a program that reads its input and prints what it unpacked. The decoder of Node 22 and 24 ends after
 * the first frame without an error, and layers may have one for each file.
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
      'it is compressed by zstd, which this server cannot read: install the program zstd (apt-get install zstd), or compress by gzip',
    );
  }
  const ended = once(child, 'close');
  ended.catch(() => undefined);
  // Its exit code reports an early end.
  const fed = pipeline(source, child.stdin).catch(() => undefined);
  try {
    yield* child.stdout as AsyncIterable<Buffer>;
    const [code] = (await ended) as [number | null];
    if (code !== 0) throw new BuildError('it cannot be read as zstd: it is damaged or was cut off');
  } finally {
    child.kill('SIGKILL');
    await fed;
  }
}
