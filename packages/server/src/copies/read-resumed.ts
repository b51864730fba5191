import type { IncomingMessage } from 'node:http';

/** How long a source may say nothing, ms. */
const STALL_MS = 30_000;
/** How often in turn a connection may break without a byte in between. */
const MOST_TRIES = 5;

/**
 * Reads a stream that may break off, and goes on where it did.
 * @param open opens it from an offset on
 * @param onBytes is told of the bytes as they come
 * @throws what `open` throws, or the last break without progress
 */
export async function* readResumed(
  open: (offset: number, signal: AbortSignal) => Promise<IncomingMessage>,
  onBytes: (count: number) => void,
  stallMs = STALL_MS,
): AsyncGenerator<Buffer> {
  let offset = 0;
  for (let tries = 1; ; tries += 1) {
    const stalled = new AbortController();
    const timer = setTimeout(() => stalled.abort(new Error('the other server says nothing')), stallMs);
    let source: IncomingMessage | undefined;
    try {
      source = await open(offset, stalled.signal);
      for await (const chunk of source as AsyncIterable<Buffer>) {
        timer.refresh();
        offset += chunk.length;
        tries = 0;
        onBytes(chunk.length);
        yield chunk;
        // Whoever reads may take its time.
        timer.refresh();
      }
      if (source.complete) return;
      throw new Error('the connection broke off');
    } catch (error) {
      // A refusal is an answer; silence is none.
      const refused = source === undefined && !stalled.signal.aborted;
      if (tries >= MOST_TRIES || refused) throw error;
    } finally {
      clearTimeout(timer);
      source?.destroy();
    }
  }
}
