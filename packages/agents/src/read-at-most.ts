/**
 * Reads a stream to its end, unless it is longer: then it is left at once, and the result is undefined. What answers inside a
 * sandbox may be anybody's program, so what it says of sizes counts for nothing.
 */
export async function readAtMost(
  stream: ReadableStream<Uint8Array>,
  mostBytes: number,
): Promise<Buffer | undefined> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of stream) {
    size += piece.byteLength;
    if (size > mostBytes) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
