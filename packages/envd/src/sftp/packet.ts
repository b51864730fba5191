/** A message is shorter than its fields say, or breaks the protocol otherwise: the session ends. */
export class BadMessageError extends Error {
  override readonly name = 'BadMessageError';
}

/** Reads the fields of one message in their order. @throws {BadMessageError} past the end */
export class FieldReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  byte(): number {
    return this.#take(1)[0]!;
  }

  uint32(): number {
    return this.#take(4).readUInt32BE(0);
  }

  /** A position or size. @throws {BadMessageError} beyond what a file can have */
  uint64(): number {
    const value = this.#take(8).readBigUInt64BE(0);
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new BadMessageError('a position is beyond any file');
    return Number(value);
  }

  /** Names and data are bytes: a file name need not be text. */
  string(): Buffer {
    return this.#take(this.uint32());
  }

  #take(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) throw new BadMessageError('a message is too short');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value >>> 0, 0);
  return bytes;
}

export function uint64(value: number | bigint): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64BE(BigInt.asUintN(64, BigInt(value)), 0);
  return bytes;
}

export function string(value: Buffer | string): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  return Buffer.concat([uint32(bytes.length), bytes]);
}

/** A whole message with its length. */
export function packet(type: number, ...fields: Buffer[]): Buffer {
  const body = Buffer.concat([Buffer.of(type), ...fields]);
  return Buffer.concat([uint32(body.length), body]);
}
