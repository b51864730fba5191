import type { Command } from './command.js';
import type { StdinSource } from './options.js';

/**
 * Writes a source into a command's stdin and closes it. Settles when the source is used up or the command no longer
 * reads; rejects only with what the source throws, after killing the command.
 */
export async function feed(command: Command, source: StdinSource): Promise<void> {
  const writer = command.stdin.getWriter();
  const closed = { now: false };
  writer.closed.catch(() => {
    closed.now = true;
  });
  try {
    for await (const chunk of piecesOf(source)) {
      if (closed.now || command.inputUnread) return;
      const sent = await writer.write(chunk).then(
        () => true,
        () => false,
      );
      if (!sent) return;
    }
  } catch (error) {
    await command.kill().catch(() => false);
    throw error;
  }
  await writer.close().catch(() => {});
}

type Pieces = AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>;

function piecesOf(source: StdinSource): Pieces {
  if (typeof source === 'string' || source instanceof Uint8Array) return [source];
  // Streams of browsers cannot be iterated over everywhere.
  return 'getReader' in source ? readAll(source) : source;
}

async function* readAll(source: ReadableStream<Uint8Array | string>): AsyncGenerator<Uint8Array | string> {
  const reader = source.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
}
