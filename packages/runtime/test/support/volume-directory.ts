import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach } from 'vitest';

/** The content of every file beside the volume. */
export const SECRET = 'not yours';

/** The directory of the volume of the test that runs. */
export let root: string;
/** A directory beside it, which nothing done to the volume may reach. */
export let outside: string;

/** Makes both anew for each test of the file. @param files secrets in the directory outside, paths */
export function makeVolumeDirectory(files: readonly string[]): void {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'svc-volume-'));
    root = path.join(folder, 'volume');
    outside = path.join(folder, 'outside');
    await mkdir(root);
    for (const file of files) {
      const at = path.join(outside, file);
      await mkdir(path.dirname(at), { recursive: true });
      await writeFile(at, SECRET, { mode: 0o600 });
    }
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
}
