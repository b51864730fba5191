import { ArchiveError } from './archive-limits.js';

export const BLOCK_BYTES = 512;

/** The fields of a block of 512 bytes that begins an entry. */
export interface TarHeader {
  /** Type flag; a NUL byte counts as `0`, a regular file. */
  type: string;
  /** Name and prefix put together; an extension header may say otherwise. */
  name: Buffer;
  linkname: Buffer;
  sizeBytes: number;
}

/** Reads a header block strictly: programs differ in what they make of a broken one. @throws {ArchiveError} */
export function readTarHeader(block: Buffer): TarHeader {
  let sum = 8 * 0x20;
  for (let at = 0; at < BLOCK_BYTES; at += 1) if (at < 148 || at >= 156) sum += block[at]!;
  if (readNumber(block, 148, 8) !== sum) throw new ArchiveError('it is no tar archive, or damaged');
  const flag = block[156]!;
  // Only POSIX archives have a prefix; GNU ones keep other things there.
  const posix = block.toString('latin1', 257, 263) === 'ustar\0';
  const prefix = posix ? readText(block, 345, 155) : Buffer.alloc(0);
  const name = readText(block, 0, 100);
  return {
    type: flag === 0 ? '0' : String.fromCharCode(flag),
    name: prefix.length > 0 ? Buffer.concat([prefix, Buffer.from('/'), name]) : name,
    linkname: readText(block, 157, 100),
    sizeBytes: readNumber(block, 124, 12),
  };
}

export function isZeroBlock(block: Buffer): boolean {
  return block.every((byte) => byte === 0);
}

/** Reads the records of a pax extension header. @throws {ArchiveError} */
export function readPaxRecords(body: Buffer): Map<string, Buffer> {
  const records = new Map<string, Buffer>();
  for (let at = 0; at < body.length; ) {
    const space = body.indexOf(0x20, at);
    const digits = space < 0 ? '' : body.toString('latin1', at, Math.min(space, at + 12));
    const end = at + Number(digits);
    if (!/^[1-9][0-9]*$/.test(digits) || end > body.length || body[end - 1] !== 0x0a) throw damaged();
    const equals = body.indexOf(0x3d, space);
    if (equals < 0 || equals >= end) throw damaged();
    records.set(body.toString('utf8', space + 1, equals), body.subarray(equals + 1, end - 1));
    at = end;
  }
  return records;
}

function damaged(): ArchiveError {
  return new ArchiveError('an extension header in it is damaged');
}

function readText(block: Buffer, start: number, length: number): Buffer {
  const field = block.subarray(start, start + length);
  const end = field.indexOf(0);
  return end < 0 ? field : field.subarray(0, end);
}

/** Octal digits, or a binary number where the first bit is set. */
function readNumber(block: Buffer, start: number, length: number): number {
  const field = block.subarray(start, start + length);
  if (field[0]! & 0x80) {
    // A first byte of 0xff begins a negative number.
    if (field[0] !== 0x80) throw new ArchiveError('a number in it is out of range');
    let value = 0;
    for (const byte of field.subarray(1)) value = value * 256 + byte;
    if (!Number.isSafeInteger(value)) throw new ArchiveError('a number in it is out of range');
    return value;
  }
  const digits = /^[ \0]*([0-7]*)(?:[ \0].*)?$/s.exec(field.toString('latin1'));
  if (digits === null) throw new ArchiveError('it is no tar archive, or damaged');
  return digits[1] === '' ? 0 : Number.parseInt(digits[1]!, 8);
}
