import { Readable } from 'node:stream';

const BLOCK_BYTES = 512;

/** A tar archive (ustar) of regular files, mode 0644, as a stream. */
export function tarOf(files: Record<string, string>): Readable {
  const parts: Buffer[] = [];
  for (const [name, content] of Object.entries(files)) {
    const body = Buffer.from(content);
    parts.push(
      header(name, body.length),
      body,
      Buffer.alloc((BLOCK_BYTES - (body.length % BLOCK_BYTES)) % BLOCK_BYTES),
    );
  }
  parts.push(Buffer.alloc(2 * BLOCK_BYTES));
  return Readable.from([Buffer.concat(parts)]);
}

function header(name: string, sizeBytes: number): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, width: number) => `${value.toString(8).padStart(width - 1, '0')}\0`;
  block.write(name, 0);
  block.write(octal(0o644, 8), 100);
  block.write(octal(1000, 8), 108);
  block.write(octal(1000, 8), 116);
  block.write(octal(sizeBytes, 12), 124);
  block.write(octal(0, 12), 136);
  block.write('        ', 148);
  block.write('0', 156);
  block.write('ustar\u000000', 257);
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}
