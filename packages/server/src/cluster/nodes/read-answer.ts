import type { IncomingMessage } from 'node:http';

/**
 * Reads what another server answers to its end. For how long, is up to the signal of the request.
 * @param mostBytes beyond that the connection is ended.
 * @throws {Error} for a longer one, and one that breaks off.
 */
export async function readAnswer(answer: IncomingMessage, mostBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of answer as AsyncIterable<Buffer>) {
    size += piece.length;
    // Leaving the loop destroys the stream.
    if (size > mostBytes) throw new Error(`the answer is longer than ${mostBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
