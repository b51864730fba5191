// A backup is a plain tar archive of regular files, so that any tar can look into it; `sha256sum -c SHA256SUMS` checks it.

export const BLOCK_BYTES = 512;
/** The least size that does not fit into octal digits. */
const OCTAL_END = 8 ** 11;
const CHECKSUM = { start: 148, end: 156 };

export interface Member {
  /** At most 100 characters, all of them ASCII. */
  name: string;
  sizeBytes: number;
}

/** The header of a member. */
export function formatHeader({ name, sizeBytes }: Member, mtimeMs: number): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  block.write(name, 0, 100, 'latin1');
  block.write('0000600\0', 100);
  block.write('0000000\0', 108);
  block.write('0000000\0', 116);
  if (sizeBytes < OCTAL_END) block.write(`${sizeBytes.toString(8).padStart(11, '0')}\0`, 124);
  else {
    block.writeUInt8(0x80, 124);
    block.writeBigUInt64BE(BigInt(sizeBytes), 128);
  }
  block.write(
    `${Math.floor(mtimeMs / 1000)
      .toString(8)
      .padStart(11, '0')}\0`,
    136,
  );
  block.write('0', 156);
  block.write('ustar\x0000', 257);
  block.write(`${sumOf(block).toString(8).padStart(6, '0')}\0 `, CHECKSUM.start);
  return block;
}

/** Reads what {@link formatHeader} wrote; undefined for anything else. */
export function parseHeader(block: Buffer): Member | undefined {
  const stored = Number.parseInt(text(block, CHECKSUM.start, CHECKSUM.end), 8);
  if (stored !== sumOf(block) || text(block, 257, 262) !== 'ustar' || block[156] !== 0x30) return undefined;
  const size = block[124] === 0x80 ? Number(block.readBigUInt64BE(128)) : octal(text(block, 124, 136));
  return Number.isSafeInteger(size) && size >= 0 ? { name: text(block, 0, 100), sizeBytes: size } : undefined;
}

/** Zeros after a member up to the next block. */
export function paddingAfter(sizeBytes: number): number {
  return (BLOCK_BYTES - (sizeBytes % BLOCK_BYTES)) % BLOCK_BYTES;
}

function octal(digits: string): number {
  return /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : Number.NaN;
}

function text(block: Buffer, start: number, end: number): string {
  const found = block.toString('latin1', start, end);
  const zero = found.indexOf('\0');
  return (zero < 0 ? found : found.slice(0, zero)).trim();
}

/** The sum of all bytes, those of the sum itself as blanks. */
function sumOf(block: Buffer): number {
  let sum = 0;
  for (const [at, byte] of block.entries()) sum += at >= CHECKSUM.start && at < CHECKSUM.end ? 0x20 : byte;
  return sum;
}
