import type { IncomingMessage, OutgoingMessage } from 'node:http';
import type { Writable } from 'node:stream';

/**
 * Writes what arrives to a sink, and stops reading while the sink is full. Starts again on the sink's `drain` and also
 * when the last write was flushed, so that no single event can leave the source paused for ever.
 */
export function pump(source: IncomingMessage, sink: OutgoingMessage, onChunk: (chunk: Buffer) => void): void {
  const resume = () => {
    if (source.isPaused()) source.resume();
  };
  const flushed = () => {
    if (sink.writableLength === 0) resume();
  };
  sink.on('drain', resume);
  sink.once('close', resume);
  source.on('data', (chunk: Buffer) => {
    if (sink.destroyed || sink.writableEnded) return;
    onChunk(chunk);
    holdBack(sink.socket);
    if (!sink.write(chunk, flushed)) source.pause();
  });
}

/** Keeps what is written in this turn for one write to the system: a body's last bytes and its end come together. */
function holdBack(socket: Writable | null): void {
  if (!socket || socket.destroyed || socket.writableCorked > 0) return;
  socket.cork();
  // The source's end arrives in the next ticks.
  queueMicrotask(() => socket.uncork());
}

/** Pairs up a raw header list for `addTrailers`. */
export function trailerPairs(rawTrailers: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i + 1 < rawTrailers.length; i += 2)
    pairs.push([rawTrailers[i] ?? '', rawTrailers[i + 1] ?? '']);
  return pairs;
}
