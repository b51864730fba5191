import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Files that the server writes for commands are small. */
const MOST_BYTES = 1 << 20;

/** A file of the server's part of the data directory, and whose it is. */
export interface ServerFile {
  text: string;
  uid: number;
}

/**
 * Reads a file that a server wrote. With a process for the rights of root it belongs to a user who has none, and anyone who took
 * that server over may have put anything there, while root reads it: nothing that a link leads to is read, nothing that waits for
 * a writer, and nothing without an end.
 * @throws {NodeJS.ErrnoException} as `open` does; `EINVAL` when it is no plain file of at most 1 MiB
 */
export async function readServerFile(file: string): Promise<ServerFile> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const found = await handle.stat();
    if (!found.isFile() || found.size > MOST_BYTES)
      throw Object.assign(new Error(`${file} is not a file that a server wrote.`), { code: 'EINVAL' });
    const content = Buffer.alloc(found.size);
    const { bytesRead } = await handle.read(content, 0, found.size, 0);
    return { text: content.toString('utf8', 0, bytesRead), uid: found.uid };
  } finally {
    await handle.close();
  }
}
