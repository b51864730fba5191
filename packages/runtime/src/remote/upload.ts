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

/** The stream of a call that uploads: its beginning, then the bytes. */
export async function* uploadOf<Start>(start: Start, content: Readable) {
  yield { part: { case: 'start' as const, value: start } };
  for await (const chunk of content as AsyncIterable<Uint8Array | string>)
    yield {
      part: { case: 'data' as const, value: typeof chunk === 'string' ? Buffer.from(chunk) : chunk },
    };
}
