// A connection that carries calls: frames of four bytes for the length of what follows, four for the number of the call, one
// for the kind, and the payload. Numbers are big-endian. A call's payload is the method's name, after a byte with its length,
// and the request; an answer's the response; a failure's a `Failure`.

const HEAD_BYTES = 9;

/** Most that one frame may hold. */
export const MAX_FRAME_BYTES = 64 * 2 ** 20;

export const FRAME = { call: 1, answer: 2, failure: 3 } as const;

export interface Frame {
  call: number;
  kind: number;
  payload: Uint8Array;
}

/** @param parts the payload, in pieces. */
export function frameOf(call: number, kind: number, ...parts: Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + length);
  bytes.writeUInt32BE(HEAD_BYTES - 4 + length, 0);
  bytes.writeUInt32BE(call, 4);
  bytes[8] = kind;
  let at = HEAD_BYTES;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Finds the frames in bytes as they arrive. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #size = 0;
  /** Bytes without which there is nothing to do. */
  #wanted = HEAD_BYTES;

  /** The frames that are whole with this chunk. @throws {RangeError} for one that no side sends */
  *read(chunk: Buffer): Generator<Frame, void, undefined> {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    while (this.#size >= this.#wanted) {
      const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
      const length = bytes.readUInt32BE(0);
      if (length < HEAD_BYTES - 4 || length > MAX_FRAME_BYTES)
        throw new RangeError(`a frame of ${length} bytes is none`);
      const end = 4 + length;
      this.#wanted = bytes.length < end ? end : HEAD_BYTES;
      this.#keep(bytes.length < end ? bytes : bytes.subarray(end));
      if (bytes.length >= end)
        yield { call: bytes.readUInt32BE(4), kind: bytes[8]!, payload: bytes.subarray(HEAD_BYTES, end) };
    }
  }

  #keep(bytes: Buffer): void {
    this.#chunks = bytes.length === 0 ? [] : [bytes];
    this.#size = bytes.length;
  }
}
