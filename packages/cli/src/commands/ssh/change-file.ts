import { chmod, mkdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeAtomically } from '#support/write-atomically';

/**
 * Changes a text file of the user, all or nothing, where a link leads and with the mode that it has. A new one is readable by
 * its owner alone, and so is its directory.
 * @returns whether there was something to change
 */
export async function changeFile(path: string, change: (text: string) => string): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const target = await realpath(path).catch(() => path);
  const mode = await stat(target).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  );
  const before = await readFile(target, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const after = change(before);
  if (after === before) return false;
  await writeAtomically(target, after);
  await chmod(target, mode);
  return true;
}
