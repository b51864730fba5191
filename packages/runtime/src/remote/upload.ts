import { Readable } from 'node:stream';
import { DriverError } from '../contract/errors.js';

type Part<Start> = {
  part:
    | { case: 'start'; value: Start }
    | { case: 'data'; value: Uint8Array }
    | { case: undefined; value?: undefined };
};

/**
 * The two parts of a stream that comes in: what it is about, and its bytes, read no faster than they are used.
 * @throws {DriverError} `invalid_spec`; so do the bytes when something else is among them
 */
export async function openUpload<Start>(
  parts: AsyncIterable<Part<Start>>,
): Promise<{ start: Start; content: Readable }> {
  const stream = parts[Symbol.asyncIterator]();
  const first = await stream.next();
  if (first.done === true || first.value.part.case !== 'start')
    throw new DriverError('invalid_spec', 'The call has no beginning.');
  return { start: first.value.part.value, content: Readable.from(bytesOf(stream), { objectMode: false }) };
}

async function* bytesOf<Start>(parts: AsyncIterator<Part<Start>>): AsyncGenerator<Uint8Array> {
  for (;;) {
    const { done, value } = await parts.next();
    if (done === true) return;
    if (value.part.case !== 'data') throw new DriverError('invalid_spec', 'A piece of content is expected.');
    yield value.part.value;
  }
}

/** Bytes that are sent in one message at least, but for the last: what costs is each message. */
const PIECE_BYTES = 512 * 1024;

/** The stream of a call that uploads: its beginning, then the bytes. */
export async function* uploadOf<Start>(start: Start, content: Readable) {
  yield { part: { case: 'start' as const, value: start } };
  for await (const value of piecesOf(content)) yield { part: { case: 'data' as const, value } };
}

async function* piecesOf(content: AsyncIterable<Uint8Array | string>): AsyncGenerator<Uint8Array> {
  let waiting: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of content) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    waiting.push(bytes);
    size += bytes.length;
    if (size < PIECE_BYTES) continue;
    yield waiting.length === 1 ? bytes : Buffer.concat(waiting);
    waiting = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(waiting);
}
