import { Readable } from 'node:stream';

const BLOCK_BYTES = 512;

/** One entry of an archive that a test makes. Names and links are written as they are, however hostile. */
export interface TarTestEntry {
  name: string;
  /** Default `file`. */
  type?: keyof typeof TYPES;
  content?: string | Buffer;
  /** Of a link. */
  linkname?: string;
  /** Default 0o644. */
  mode?: number;
  /** Owner and group. Default 1000. */
  uid?: number;
  device?: { major: number; minor: number };
}

const TYPES = {
  file: '0',
  link: '1',
  symlink: '2',
  character: '3',
  block: '4',
  directory: '5',
  fifo: '6',
  pax: 'x',
  globalPax: 'g',
  longName: 'L',
  longLink: 'K',
  sparse: 'S',
} as const;

/** A tar archive (ustar) of regular files, mode 0644, as a stream. */
export function tarOf(files: Record<string, string>): Readable {
  return tarOfEntries(Object.entries(files).map(([name, content]) => ({ name, content })));
}

/** A tar archive (ustar) of any entries, as a stream. */
export function tarOfEntries(entries: readonly TarTestEntry[]): Readable {
  return Readable.from([tarBytes(entries)]);
}

/** A tar archive (ustar) of any entries. */
export function tarBytes(entries: readonly TarTestEntry[]): Buffer {
  const parts = entries.flatMap((entry) => {
    const body = Buffer.from(entry.content ?? '');
    return [header(entry, body.length), body, Buffer.alloc(-body.length & (BLOCK_BYTES - 1))];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK_BYTES)]);
}

/** One record of a pax header: its own length, a name and a value. */
export function paxRecord(name: string, value: string): string {
  const rest = ` ${name}=${value}\n`;
  let length = Buffer.byteLength(rest);
  while (Buffer.byteLength(`${length}${rest}`) !== length) length = Buffer.byteLength(`${length}${rest}`);
  return `${length}${rest}`;
}

function header(entry: TarTestEntry, sizeBytes: number): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, width: number) => `${value.toString(8).padStart(width - 1, '0')}\0`;
  block.write(entry.name, 0, 100);
  block.write(octal(entry.mode ?? 0o644, 8), 100);
  block.write(octal(entry.uid ?? 1000, 8), 108);
  block.write(octal(entry.uid ?? 1000, 8), 116);
  block.write(octal(sizeBytes, 12), 124);
  block.write(octal(0, 12), 136);
  block.write('        ', 148);
  block.write(TYPES[entry.type ?? 'file'], 156);
  block.write(entry.linkname ?? '', 157, 100);
  block.write('ustar\u000000', 257);
  if (entry.device !== undefined) {
    block.write(octal(entry.device.major, 8), 329);
    block.write(octal(entry.device.minor, 8), 337);
  }
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}
