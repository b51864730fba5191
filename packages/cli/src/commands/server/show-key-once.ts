import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serverDirectory } from '../../connection/directories.js';

/**
 * Whether the key is still to be shown; true for one call alone. Not the first start decides: that one may have failed
 * after the key was made, at a port that was taken.
 */
export async function showKeyOnce(dataDir: string): Promise<boolean> {
  return writeFile(join(serverDirectory(dataDir), 'key-shown'), '', { flag: 'wx', mode: 0o600 }).then(
    () => true,
    () => false,
  );
}
