import { ProtocolError } from '../wire/protocol-error.js';

/** Received bytes that were not used yet. */
export class ByteQueue {
  #chunks: Buffer[] = [];
  #length = 0;

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#length += chunk.length;
  }

  /** The next bytes, which stay; undefined when there are fewer. */
  peek(length: number): Buffer | undefined {
    if (length === 0 || this.#length < length) return undefined;
    if (this.#chunks[0]!.length < length) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0]!.subarray(0, length);
  }

  /** Takes the next bytes; undefined when there are fewer. */
  take(length: number): Buffer | undefined {
    const bytes = this.peek(length);
    if (bytes === undefined) return undefined;
    this.#length -= length;
    const first = this.#chunks[0]!;
    if (first.length === length) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(length);
    return bytes;
  }

  /** Takes a line, without its end; undefined when its end is not there. @throws {ProtocolError} when it is too long */
  takeLine(maxBytes: number): string | undefined {
    const all = this.peek(Math.min(this.#length, maxBytes + 2));
    const end = all?.indexOf(0x0a) ?? -1;
    if (end !== -1)
      return this.take(end + 1)!
        .toString('latin1')
        .replace(/\r?\n$/, '');
    if (this.#length > maxBytes) throw new ProtocolError('what connects does not speak SSH');
    return undefined;
  }
}
