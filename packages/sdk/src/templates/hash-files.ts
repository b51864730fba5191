import type { LocalEntry } from '../runtime/contract/local-files.js';
import type { CopySource } from './definition.js';

/**
 * What the name of a set of files is computed from: `COPY <source> <target>`, then for each entry, sorted by path: its
 * path, its mode and size in decimal, and its content (of a link, its target).
 */
export async function* hashInput(
  copy: CopySource,
  entries: readonly LocalEntry[],
  read: (path: string) => AsyncIterable<Uint8Array>,
): AsyncGenerator<string | Uint8Array, void, undefined> {
  yield `COPY ${copy.source} ${copy.target}`;
  for (const entry of [...entries].sort((left, right) => compare(left.path, right.path))) {
    yield `${entry.path}${entry.mode}${entry.sizeBytes}`;
    if (entry.type === 'symlink') yield entry.target ?? '';
    if (entry.type === 'file') yield* read(entry.path);
  }
}

/** By code units, which is the same on every machine. */
function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
