import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { errors } from './errors/catalog.js';
import { JsonBoundsError, JsonScanner } from './wire/bounded-json.js';

/** Deeper and larger than any request of the document; what is beyond costs a parser seconds. */
const BOUNDS = { maxDepth: 64, maxValues: 200_000 };

/**
 * Reads a JSON body to its end, or as far as it may be: its shape is looked at while it comes.
 * @throws {ApiError} 413 beyond the limit, 400 beyond the bounds; what the stream fails with.
 */
export async function readJsonText(payload: Readable, limitBytes: number): Promise<string> {
  const scanner = new JsonScanner(BOUNDS);
  const chunks: Buffer[] = [];
  let size = 0;
  const announced = Number((payload as Partial<IncomingMessage>).headers?.['content-length'] ?? 0);
  if (announced > limitBytes) throw errors.bodyTooLarge(limitBytes);
  // Not by `for await`, which would destroy the connection when it ends early.
  await new Promise<void>((resolve, reject) => {
    const settle = (error?: unknown) => {
      payload.off('data', onData).off('end', settle).off('error', settle);
      if (error === undefined) resolve();
      else reject(error);
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      try {
        if (size > limitBytes) throw errors.bodyTooLarge(limitBytes);
        scanner.push(chunk);
        chunks.push(chunk);
      } catch (error) {
        settle(
          error instanceof JsonBoundsError ? errors.unboundedBody(`the body has ${error.message}`) : error,
        );
      }
    };
    payload
      .on('data', onData)
      .once('end', () => settle())
      .once('error', settle);
  });
  return Buffer.concat(chunks).toString('utf8');
}
