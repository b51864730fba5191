const MIB = 1024 * 1024;
const CHUNK = Buffer.alloc(MIB, 7);

/** That many bytes, made as they are asked for. */
export function source(sizeMiB: number): ReadableStream<Uint8Array> {
  let left = sizeMiB;
  return new ReadableStream({
    pull(controller) {
      if (left-- > 0) controller.enqueue(CHUNK);
      else controller.close();
    },
  });
}

/** Reads to the end, and gives the number of bytes. */
export async function drain(stream: ReadableStream<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const chunk of stream) bytes += chunk.length;
  return bytes;
}
