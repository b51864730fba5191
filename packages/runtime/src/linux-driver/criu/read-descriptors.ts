import { type Dir, type Dirent, opendirSync, readlinkSync } from 'node:fs';
import type { Turns } from '../../shared/turns.js';

/**
 * The descriptors of a process, each with its number and what it leads to; nothing when it has ended.
 * @param turns programs may have hundreds of thousands together, and the driver serves others meanwhile.
 */
export async function* readDescriptors(
  pid: number,
  turns: Turns,
  proc = '/proc',
): AsyncGenerator<[string, string]> {
  const path = `${proc}/${pid}/fd`;
  const directory = orNothing(() => opendirSync(path));
  if (directory === undefined) return;
  try {
    for (;;) {
      await turns.give();
      const entry = nextOf(directory);
      if (entry === undefined) return;
      const target = orNothing(() => readlinkSync(`${path}/${entry.name}`));
      if (target !== undefined) yield [entry.name, target];
    }
  } finally {
    directory.closeSync();
  }
}

function nextOf(directory: Dir): Dirent | undefined {
  return orNothing(() => directory.readSync()) ?? undefined;
}

/** Of a process that has ended nothing can be read any more. */
function orNothing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
