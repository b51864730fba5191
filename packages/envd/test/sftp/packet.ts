/** Fields and messages of SFTP, as clients send them. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

export function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

export function string(value: Buffer | string): Buffer {
  const bytes = Buffer.from(value as string);
  return Buffer.concat([uint32(bytes.length), bytes]);
}

/** A whole message with its length. */
export function packet(type: number, ...fields: Buffer[]): Buffer {
  const body = Buffer.concat([Buffer.of(type), ...fields]);
  return Buffer.concat([uint32(body.length), body]);
}
