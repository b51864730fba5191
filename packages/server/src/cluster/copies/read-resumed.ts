import type { IncomingMessage } from 'node:http';

/** Longest silence of a source, ms. */
const STALL_MS = 30_000;
/** Time, ms, after which a source must have sent at least so much per second: no link between servers is as slow. */
const PACE = { graceMs: 60_000, bytesPerSecond: 16 * 1024 };
/** Most breaks of the connection in a row without a byte in between. */
const MOST_TRIES = 5;

/**
 * Reads a stream that may break off, and resumes where it did.
 * @param open opens it from an offset on
 * @param onBytes receives the number of bytes as they come
 * @throws what `open` throws, the last break without progress, or that the source is too slow
 */
export async function* readResumed(
  open: (offset: number, signal: AbortSignal) => Promise<IncomingMessage>,
  onBytes: (count: number) => void,
  stallMs = STALL_MS,
  pace = PACE,
): AsyncGenerator<Buffer> {
  let offset = 0;
  /** Time spent on the source, not on the reader. */
  let waitedMs = 0;
  let tooSlow = false;
  for (let tries = 1; ; tries += 1) {
    const stalled = new AbortController();
    const timer = setTimeout(() => stalled.abort(new Error('the other server says nothing')), stallMs);
    let source: IncomingMessage | undefined;
    let since = performance.now();
    try {
      source = await open(offset, stalled.signal);
      for await (const chunk of source as AsyncIterable<Buffer>) {
        timer.refresh();
        waitedMs += performance.now() - since;
        offset += chunk.length;
        tries = 0;
        onBytes(chunk.length);
        tooSlow = waitedMs > pace.graceMs && offset < (waitedMs / 1000) * pace.bytesPerSecond;
        if (tooSlow) throw new Error('the other server is too slow');
        yield chunk;
        // The reader may take its time.
        timer.refresh();
        since = performance.now();
      }
      if (source.complete) return;
      throw new Error('the connection broke off');
    } catch (error) {
      // A refusal is an answer; silence is none.
      const refused = source === undefined && !stalled.signal.aborted;
      if (tries >= MOST_TRIES || refused || tooSlow) throw error;
    } finally {
      clearTimeout(timer);
      source?.destroy();
    }
  }
}
