/** Bounds of a stream of lines. */
export interface LineLimits {
  /** Bytes of one line. */
  lineBytes: number;
  /** Bytes of all together. */
  totalBytes: number;
}

/**
 * Gives the lines of a stream, without their ends, empty ones left out; the last needs no end. Leaving the loop cancels
 * the stream.
 * @throws RangeError naming the limit that was passed
 */
export async function* readLines(
  stream: ReadableStream<Uint8Array>,
  { lineBytes, totalBytes }: LineLimits,
): AsyncGenerator<string, void, undefined> {
  const reader = stream.getReader();
  let parts: Uint8Array[] = [];
  let held = 0;
  let total = 0;
  const take = (rest: Uint8Array) => {
    const line = decode([...parts, rest]);
    parts = [];
    held = 0;
    return line;
  };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      total += value.length;
      if (total > totalBytes) throw new RangeError(`more than ${mebibytes(totalBytes)}`);
      let from = 0;
      for (let end = value.indexOf(10); end !== -1; end = value.indexOf(10, from)) {
        const line = take(value.subarray(from, end));
        if (line !== '') yield line;
        from = end + 1;
      }
      if (from < value.length) {
        parts.push(value.subarray(from));
        held += value.length - from;
      }
      if (held > lineBytes) throw new RangeError(`a line of more than ${mebibytes(lineBytes)}`);
    }
    const line = take(new Uint8Array());
    if (line !== '') yield line;
  } finally {
    // Not awaited: a connection that hangs would keep the caller from its error.
    void reader.cancel().catch(() => {});
  }
}

function decode(parts: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return parts.map((part) => decoder.decode(part, { stream: true })).join('') + decoder.decode();
}

const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MiB`;
