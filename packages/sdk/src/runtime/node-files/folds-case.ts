import { randomBytes } from 'node:crypto';
import { lstat, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Returns true when names that differ in case alone are one name in a directory of this machine. False where nothing can be
 * written.
 */
export async function foldsCase(directory: string): Promise<boolean> {
  // A name that starts like this is never synchronized.
  const name = `.svc-sync-${randomBytes(12).toString('hex')}a`;
  const place = join(directory, name);
  try {
    await writeFile(place, '', { flag: 'wx' });
    return await lstat(join(directory, name.toUpperCase())).then(
      () => true,
      () => false,
    );
  } catch {
    return false;
  } finally {
    await rm(place, { force: true });
  }
}
