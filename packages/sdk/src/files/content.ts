import { InvalidRequestError } from '../errors/answer-errors.js';

/** Content that can be written to a file. Text is written as UTF-8. */
export type FileContent =
  | string
  | Uint8Array
  | ArrayBuffer
  | Blob
  | ReadableStream<Uint8Array | string>
  | AsyncIterable<Uint8Array | string>;

/** Content that can be sent again as it is. */
export type SteadyContent = string | Uint8Array<ArrayBuffer> | ArrayBuffer | Blob;

/** Content that can be sent once. */
export type FlowingContent = ReadableStream<Uint8Array>;

/** Separates content in memory from streamed content, which becomes one kind of stream. `onBytes` gets the size of each of its pieces. */
export function normalizeContent(
  content: FileContent,
  onBytes?: (bytes: number) => void,
): { steady: SteadyContent } | { flowing: FlowingContent } {
  if (typeof content === 'string' || content instanceof ArrayBuffer || content instanceof Blob)
    return { steady: content };
  if (content instanceof Uint8Array) return { steady: content as Uint8Array<ArrayBuffer> };
  if (typeof content === 'object' && content !== null && Symbol.asyncIterator in content) {
    return { flowing: streamOf(content as AsyncIterable<Uint8Array | string>, onBytes) };
  }
  if ((content as unknown) instanceof ReadableStream) {
    return { flowing: streamOf(iterate(content as ReadableStream<Uint8Array | string>), onBytes) };
  }
  throw new InvalidRequestError(
    `A file's content must be a string, bytes, a Blob, a ReadableStream or an async iterable of bytes, got ${describe(content)}.`,
  );
}

/** A byte stream that pulls its source only as it is read. */
export function streamOf(
  source: AsyncIterable<Uint8Array | string>,
  onBytes?: (bytes: number) => void,
): ReadableStream<Uint8Array> {
  const iterator = source[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await iterator.next();
        if (done) return controller.close();
        const bytes = typeof value === 'string' ? encoder.encode(value) : value;
        onBytes?.(bytes.byteLength);
        controller.enqueue(bytes);
      },
      async cancel() {
        await iterator.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

/** Streams of browsers are not all async iterables. */
async function* iterate<T>(stream: ReadableStream<T>): AsyncGenerator<T, void, undefined> {
  const reader = stream.getReader();
  try {
    for (let step = await reader.read(); !step.done; step = await reader.read()) yield step.value;
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function describe(value: unknown): string {
  return value === null ? 'null' : typeof value;
}
