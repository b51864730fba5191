import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readOutput } from '../../src/linux-driver/egress/read-output.js';

/** Returns the lines logged for pieces that a process prints, a second of the clock for each list of them. */
async function linesOf(...seconds: (string | Buffer)[][]): Promise<string[]> {
  const stream = new PassThrough();
  const lines: string[] = [];
  let nowMs = 0;
  readOutput(
    stream,
    (line) => lines.push(line),
    () => nowMs,
  );
  for (const pieces of seconds) {
    for (const piece of pieces) if (!stream.write(piece)) await new Promise((go) => stream.once('drain', go));
    await new Promise(setImmediate);
    nowMs += 1000;
  }
  stream.end();
  await new Promise((resolve) => stream.once('close', resolve));
  return lines;
}

describe('what the egress process prints, when it is in the hands of an attacker', () => {
  it('is logged line by line', async () => {
    expect(await linesOf(['one\ntw', 'o\nthree'])).toEqual(['one', 'two', 'three']);
  });

  it('is cut where a line does not end', async () => {
    const lines = await linesOf([...Array(64).fill(Buffer.alloc(256 * 1024, 'x'))]);
    // The rest at the end is a line of the next second.
    expect(lines).toHaveLength(22);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(500);
  });

  it('does not flood the log, and is logged again a second later', async () => {
    const lines = await linesOf(['line\n'.repeat(100_000)], ['later\n']);
    expect(lines).toHaveLength(22);
    expect(lines.slice(-2)).toEqual(['(more lines in this second are left out)', 'later']);
  });
});
