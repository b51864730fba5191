import { lstat, readdir, statfs } from 'node:fs/promises';
import path from 'node:path';
import { BuildError } from '../shared/build.js';

/** Interval of checks, ms: bytes that are written meanwhile come on top of the limit. */
const LOOK_MS = 200;
/** Room that stays on the file system, which may be that of the database, bytes. */
const RESERVE_BYTES = 512 * 2 ** 20;

/**
 * Watches what a program of a build writes into a directory.
 * @param onLimit called once, with the reason, when it is more than `maxBytes` or takes the room that others need.
 * @returns a function that ends the watch
 */
export function watchSize(
  directory: string,
  maxBytes: number,
  onLimit: (reason: BuildError) => void,
): () => void {
  let over = false;
  const look = async () => {
    const [{ bavail, bsize }, bytes] = await Promise.all([statfs(directory), sizeOf(directory)]);
    if (over) return;
    if (bytes > maxBytes)
      onLimit(new BuildError(`the image is refused: it is larger than ${maxBytes} bytes (maxBytes)`));
    else if (bavail * bsize < RESERVE_BYTES)
      onLimit(new BuildError('the image cannot be pulled: the disk of the server is full'));
    else timer = setTimeout(run, LOOK_MS);
  };
  const run = () => void look().catch(() => undefined);
  let timer = setTimeout(run, LOOK_MS);
  return () => {
    over = true;
    clearTimeout(timer);
  };
}

async function sizeOf(directory: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(directory, { recursive: true }).catch(() => [])) {
    // Blocks, not the length: a file with holes takes no room.
    const found = await lstat(path.join(directory, name)).catch(() => undefined);
    bytes += (found?.blocks ?? 0) * 512;
  }
  return bytes;
}
