import type { Readable } from 'node:stream';
import { LineSplitter } from '#support/line-splitter';

/** Characters of a line that are logged, and lines a second. */
const LINE = 500;
const LINES_PER_SECOND = 20;

/**
 * Reads the output of a process, line by line. The process reads input of attackers and may be taken over: a line without an end
 * takes no memory here, and a flood of lines does not fill the operator's log.
 * @param onLine called with as many lines a second as people can read, each cut.
 */
export function readOutput(
  stream: Readable,
  onLine: (line: string) => void,
  now: () => number = () => performance.now(),
): void {
  let second = 0;
  let passed = 0;
  const lines = new LineSplitter((line) => {
    const current = Math.floor(now() / 1000);
    if (current !== second) [second, passed] = [current, 0];
    passed += 1;
    if (passed <= LINES_PER_SECOND) onLine(line.slice(0, LINE));
    if (passed === LINES_PER_SECOND + 1) onLine('(more lines in this second are left out)');
  });
  stream.on('data', (bytes: Uint8Array) => lines.push(bytes)).once('end', () => lines.end());
}
