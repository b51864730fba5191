import { closeSync, openSync, readSync } from 'node:fs';
import type { Turns } from '../../shared/turns.js';

/** The kernel gives about one page at a time, whole lines of it. */
const READ_BYTES = 65_536;

/**
 * Lines of `/proc/<pid>/maps`, in parts; nothing when the process has ended.
 * @param turns a program may have millions of mappings, and the driver serves others meanwhile.
 */
export async function* readMappings(pid: number, turns: Turns, proc = '/proc'): AsyncGenerator<string[]> {
  let file: number;
  try {
    file = openSync(`${proc}/${pid}/maps`, 'r');
  } catch {
    return;
  }
  try {
    const buffer = Buffer.alloc(READ_BYTES);
    let rest = '';
    for (;;) {
      await turns.give();
      const length = readSync(file, buffer);
      if (length === 0) break;
      const lines = (rest + buffer.toString('latin1', 0, length)).split('\n');
      rest = lines.pop()!;
      yield lines;
    }
    if (rest !== '') yield [rest];
  } catch {
    // It has ended meanwhile.
  } finally {
    closeSync(file);
  }
}
