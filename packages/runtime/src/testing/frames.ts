const HEADER_BYTES = 5;

/** One message of a Connect stream: a flag byte, the length, JSON. */
export function encodeFrame(message: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(body.length, 1);
  return Buffer.concat([header, body]);
}

/** The messages of a Connect stream, the closing one (`error`, `metadata`) included. */
export async function* readFrames(stream: AsyncIterable<Buffer>): AsyncGenerator<unknown> {
  let pending = Buffer.alloc(0);
  for await (const chunk of stream) {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + pending.readUInt32BE(1);
      if (pending.length < end) break;
      yield JSON.parse(pending.toString('utf8', HEADER_BYTES, end));
      pending = pending.subarray(end);
    }
  }
}
