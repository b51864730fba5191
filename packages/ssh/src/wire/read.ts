import { ProtocolError } from './protocol-error.js';

/** Reads the fields of one message in their order (RFC 4251, 5). @throws {ProtocolError} past the end */
export class FieldReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get rest(): number {
    return this.#bytes.length - this.#at;
  }

  byte(): number {
    return this.take(1)[0]!;
  }

  boolean(): boolean {
    return this.byte() !== 0;
  }

  uint32(): number {
    return this.take(4).readUInt32BE(0);
  }

  /** Length and bytes; the bytes are a view of the message. */
  string(): Buffer {
    return this.take(this.uint32());
  }

  /** A string as UTF-8. */
  text(): string {
    return this.string().toString('utf8');
  }

  nameList(): string[] {
    const text = this.string().toString('latin1');
    return text === '' ? [] : text.split(',');
  }

  take(length: number): Buffer {
    if (length > this.rest) throw new ProtocolError('a message is shorter than it says');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
