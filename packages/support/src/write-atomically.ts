import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';

/** Writes a file so that a crash leaves the old content or the new, never a part. Mode 0600. */
export async function writeAtomically(path: string, content: string): Promise<void> {
  const draft = `${path}.${randomBytes(10).toString('hex')}.tmp`;
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
