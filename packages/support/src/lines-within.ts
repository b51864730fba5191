import type { Readable } from 'node:stream';

/**
 * Lines of UTF-8, read as they are asked for. One without an end takes no more memory than the limit. A reader who stops early, or
 * gets a line that is too long, has the stream destroyed.
 * @param mostBytes the longest line, bytes
 * @throws {RangeError} for a longer one
 */
export async function* linesWithin(stream: Readable, mostBytes: number): AsyncGenerator<string, void, void> {
  let pieces: Buffer[] = [];
  let size = 0;
  for await (let chunk of stream as AsyncIterable<Buffer>) {
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a)) {
      if (size + end > mostBytes) throw tooLong(mostBytes);
      yield Buffer.concat([...pieces, chunk.subarray(0, end)]).toString();
      pieces = [];
      size = 0;
      chunk = chunk.subarray(end + 1);
    }
    size += chunk.length;
    if (size > mostBytes) throw tooLong(mostBytes);
    pieces.push(chunk);
  }
  if (size > 0) yield Buffer.concat(pieces).toString();
}

function tooLong(mostBytes: number): RangeError {
  return new RangeError(`a line has more than ${mostBytes} bytes`);
}
