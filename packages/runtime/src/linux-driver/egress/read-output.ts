import type { Readable } from 'node:stream';
import { LineSplitter } from '#support/line-splitter';

/** Characters of a line that are told, and lines a second. */
const LINE = 500;
const LINES_PER_SECOND = 20;

/**
 * Tells what a process prints, line by line. It reads what attackers send and may be in their hands: a line without an end
 * takes no memory here, and a flood of lines does not fill the operator's log.
 * @param onLine told of as many lines a second as people can read, each cut.
 */
export function readOutput(
  stream: Readable,
  onLine: (line: string) => void,
  now: () => number = () => performance.now(),
): void {
  let second = 0;
  let told = 0;
  const lines = new LineSplitter((line) => {
    const current = Math.floor(now() / 1000);
    if (current !== second) [second, told] = [current, 0];
    told += 1;
    if (told <= LINES_PER_SECOND) onLine(line.slice(0, LINE));
    if (told === LINES_PER_SECOND + 1) onLine('(more lines in this second are left out)');
  });
  stream.on('data', (bytes: Uint8Array) => lines.push(bytes)).once('end', () => lines.end());
}
