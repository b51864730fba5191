/** A message, a part of a binary one, or a control frame of the other side. */
export type Frame =
  | { kind: 'text'; text: string }
  | { kind: 'binary'; payload: Buffer }
  | { kind: 'ping'; payload: Buffer }
  | { kind: 'close' };

const LARGEST_BYTES = 4 * 2 ** 20;
const LARGEST_CONTROL_BYTES = 125;
const MOST_FRAGMENTS = 4_096;
const MOST_PIECES = 4_096;

/**
 * Reads what a WebSocket server sends (RFC 6455), which is never masked. Fragments of texts are put together; of binary
 * messages each part is given as it comes, as they are pieces of streams.
 */
export class FrameReader {
  #buffer = Buffer.alloc(0);
  /** The bytes that arrived since, and the number that the next frame needs: they are put together once, not at each piece. */
  #pieces: Buffer[] = [];
  #bytes = 0;
  #neededBytes = 2;
  #fragments: Buffer[] = [];
  #fragmentBytes = 0;
  /** True if the continued message is binary. */
  #binary = false;

  /** @throws {Error} for what no such server sends. */
  push(chunk: Buffer): Frame[] {
    this.#pieces.push(chunk);
    this.#bytes += chunk.length;
    if (this.#pieces.length > MOST_PIECES) this.#pieces = [Buffer.concat(this.#pieces)];
    if (this.#bytes < this.#neededBytes) return [];
    this.#buffer = Buffer.concat([this.#buffer, ...this.#pieces.splice(0)]);
    const frames: Frame[] = [];
    for (;;) {
      const part = this.#next();
      if (part === undefined) return frames;
      const { final, code, payload } = part;
      if (code === 8) frames.push({ kind: 'close' });
      else if (code === 9) frames.push({ kind: 'ping', payload });
      else if (code > 2) continue;
      else {
        if (code > 0) this.#binary = code === 2;
        if (this.#binary) {
          if (payload.length > 0) frames.push({ kind: 'binary', payload });
          continue;
        }
        this.#fragments.push(payload);
        this.#fragmentBytes += payload.length;
        if (this.#fragmentBytes > LARGEST_BYTES || this.#fragments.length > MOST_FRAGMENTS)
          throw new Error('A message is too large.');
        if (!final) continue;
        frames.push({ kind: 'text', text: Buffer.concat(this.#fragments).toString('utf8') });
        this.#fragments = [];
        this.#fragmentBytes = 0;
      }
    }
  }

  #next(): { final: boolean; code: number; payload: Buffer } | undefined {
    const buffer = this.#buffer;
    if (buffer.length < 2) return this.#wait(2);
    if (buffer[1]! & 0x80) throw new Error('A server must not mask what it sends.');
    const short = buffer[1]! & 0x7f;
    const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
    const start = 2 + lengthBytes;
    if (buffer.length < start) return this.#wait(start);
    const length =
      lengthBytes === 0
        ? short
        : lengthBytes === 2
          ? buffer.readUInt16BE(2)
          : Number(buffer.readBigUInt64BE(2));
    if (length > LARGEST_BYTES) throw new Error('A message is too large.');
    if (length > LARGEST_CONTROL_BYTES && (buffer[0]! & 0x08) !== 0)
      throw new Error('A control frame is too large.');
    if (buffer.length < start + length) return this.#wait(start + length);
    this.#buffer = buffer.subarray(start + length);
    this.#bytes = this.#buffer.length;
    return {
      final: (buffer[0]! & 0x80) !== 0,
      code: buffer[0]! & 0x0f,
      payload: buffer.subarray(start, start + length),
    };
  }

  #wait(bytes: number): undefined {
    this.#neededBytes = bytes;
  }
}

/** A whole binary message, masked as a client must: what precedes its bytes. A mask of zeros changes nothing. Pure. */
export function binaryHeader(length: number): Buffer {
  const header = Buffer.alloc(length < 126 ? 6 : length < 2 ** 16 ? 8 : 14);
  header[0] = 0x82;
  header[1] = 0x80 | (length < 126 ? length : length < 2 ** 16 ? 126 : 127);
  if (length >= 2 ** 16) header.writeBigUInt64BE(BigInt(length), 2);
  else if (length >= 126) header.writeUInt16BE(length, 2);
  return header;
}

/** The end of a connection, masked as a client must. */
export const CLOSE_FRAME = Buffer.from([0x88, 0x80, 0, 0, 0, 0]);

/** The answer to a ping, masked as a client must. Pure. */
export function pongFrame(payload: Buffer): Buffer {
  // A control frame has at most 125 bytes; a mask of zeros changes nothing.
  return Buffer.concat([Buffer.from([0x8a, 0x80 | payload.length, 0, 0, 0, 0]), payload]);
}
