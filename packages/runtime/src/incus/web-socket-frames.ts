/** A message or control frame of the other side. */
export type Frame = { kind: 'text'; text: string } | { kind: 'ping'; payload: Buffer } | { kind: 'close' };

const LARGEST_BYTES = 4 * 2 ** 20;

/**
 * Reads what a WebSocket server sends (RFC 6455), which is never masked. Fragments are put together; binary messages are left
 * out, as Incus sends none.
 */
export class FrameReader {
  #buffer = Buffer.alloc(0);
  #fragments: Buffer[] = [];

  /** @throws {Error} for what no such server sends. */
  push(chunk: Buffer): Frame[] {
    this.#buffer = Buffer.concat([this.#buffer, chunk]);
    const frames: Frame[] = [];
    for (;;) {
      const part = this.#next();
      if (part === undefined) return frames;
      const { final, code, payload } = part;
      if (code === 8) frames.push({ kind: 'close' });
      else if (code === 9) frames.push({ kind: 'ping', payload });
      else if (code <= 1) {
        this.#fragments.push(payload);
        if (!final) continue;
        frames.push({ kind: 'text', text: Buffer.concat(this.#fragments).toString('utf8') });
        this.#fragments = [];
      }
    }
  }

  #next(): { final: boolean; code: number; payload: Buffer } | undefined {
    const buffer = this.#buffer;
    if (buffer.length < 2) return undefined;
    if (buffer[1]! & 0x80) throw new Error('A server must not mask what it sends.');
    const short = buffer[1]! & 0x7f;
    const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
    const start = 2 + lengthBytes;
    if (buffer.length < start) return undefined;
    const length =
      lengthBytes === 0
        ? short
        : lengthBytes === 2
          ? buffer.readUInt16BE(2)
          : Number(buffer.readBigUInt64BE(2));
    if (length > LARGEST_BYTES) throw new Error('A message is too large.');
    if (buffer.length < start + length) return undefined;
    this.#buffer = buffer.subarray(start + length);
    return {
      final: (buffer[0]! & 0x80) !== 0,
      code: buffer[0]! & 0x0f,
      payload: buffer.subarray(start, start + length),
    };
  }
}

/** The answer to a ping, masked as a client must. Pure. */
export function pongFrame(payload: Buffer): Buffer {
  // A control frame has at most 125 bytes; a mask of zeros changes nothing.
  return Buffer.concat([Buffer.from([0x8a, 0x80 | payload.length, 0, 0, 0, 0]), payload]);
}
