import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { linesWithin } from '../src/lines-within.js';

async function linesOf(pieces: string[], mostBytes = 100): Promise<string[]> {
  const stream = Readable.from(pieces.map((piece) => Buffer.from(piece, 'latin1')));
  const lines: string[] = [];
  for await (const line of linesWithin(stream, mostBytes)) lines.push(line);
  return lines;
}

it('puts lines together from pieces, an unfinished one at the end among them', async () => {
  expect(await linesOf(['on', 'e\ntwo\n\nth', 'ree'])).toEqual(['one', 'two', '', 'three']);
  expect(await linesOf([])).toEqual([]);
  // One character of two bytes, cut in its middle.
  expect(await linesOf(['\xc3', '\xa9\n'])).toEqual(['é']);
});

it('takes a line of exactly the longest', async () => {
  expect(await linesOf(['1234', '5\n12345'], 5)).toEqual(['12345', '12345']);
  await expect(linesOf(['1234', '56\n'], 5)).rejects.toThrow('a line has more than 5 bytes');
});

it('stops reading a line without an end', async () => {
  let read = 0;
  const endless = Readable.from(
    (function* () {
      for (;;) {
        read += 1;
        yield Buffer.alloc(1_000);
      }
    })(),
  );
  await expect(linesWithin(endless, 10_000).next()).rejects.toThrow(RangeError);
  expect(endless.destroyed).toBe(true);
  expect(read).toBeLessThan(40);
});
