import { closeSync, openSync, readSync } from 'node:fs';
import type { Turns } from '../../shared/turns.js';

/** The kernel gives whole lines, of about one page at a time. */
const READ_BYTES = 65_536;

/**
 * Lines of `/proc/<pid>/maps`, in parts, a character for each byte; nothing when the process has ended.
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
    for (let rest = ''; ; ) {
      await turns.give();
      const length = readOrNothing(file, buffer);
      if (length === 0) return;
      const lines = (rest + buffer.toString('latin1', 0, length)).split('\n');
      rest = lines.pop()!;
      yield lines;
    }
  } finally {
    closeSync(file);
  }
}

/** Of a process that has ended nothing can be read any more. */
function readOrNothing(file: number, buffer: Buffer): number {
  try {
    return readSync(file, buffer);
  } catch {
    return 0;
  }
}
