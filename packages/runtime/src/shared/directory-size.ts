import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Bytes on disk of everything below `directory`; what vanishes meanwhile or cannot be read counts nothing. */
export async function directorySize(directory: string): Promise<number> {
  const seenLinks = new Set<string>();
  const visit = async (path: string): Promise<number> => {
    const info = await lstat(path).catch(() => undefined);
    if (info === undefined) return 0;
    if (!info.isDirectory()) {
      if (info.nlink > 1) {
        const key = `${info.dev}:${info.ino}`;
        if (seenLinks.has(key)) return 0;
        seenLinks.add(key);
      }
      return info.blocks * 512;
    }
    let bytes = info.blocks * 512;
    for (const name of await readdir(path).catch(() => [])) bytes += await visit(join(path, name));
    return bytes;
  };
  return visit(directory);
}
