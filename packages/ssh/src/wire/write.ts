/** Encodings of fields (RFC 4251, 5). Pure. */

export function byte(value: number): Buffer {
  return Buffer.of(value);
}

export function boolean(value: boolean): Buffer {
  return Buffer.of(value ? 1 : 0);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value >>> 0, 0);
  return bytes;
}

/** Length and bytes; text as UTF-8. */
export function string(value: Uint8Array | string): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
  return Buffer.concat([uint32(bytes.length), bytes]);
}

export function nameList(names: readonly string[]): Buffer {
  return string(names.join(','));
}

/** A positive integer of any size, given as big-endian bytes. */
export function positiveInteger(bytes: Buffer): Buffer {
  let start = 0;
  while (start < bytes.length && bytes[start] === 0) start += 1;
  const digits = bytes.subarray(start);
  // A leading 1 bit would make it negative.
  return string(digits.length > 0 && digits[0]! >= 0x80 ? Buffer.concat([Buffer.of(0), digits]) : digits);
}
