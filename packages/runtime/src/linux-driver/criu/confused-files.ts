import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { BinaryReader } from '@bufbuild/protobuf/wire';

/** In front of the entries of an image: what it is, in two numbers. In front of each entry: its length. */
const HEADER_BYTES = 8;
const LENGTH_BYTES = 4;
/** What is read of all images. A program may have millions of mappings, and the driver serves others meanwhile. */
const MAX_BYTES = 8 * 2 ** 20;
/** Kind of a file in `files.img`. */
const FIFO = 3;
/** States of a mapping that has a file. */
const FILE_MAPPING = 0x40 | 0x80;

/**
 * Whether a dump took a file for a FIFO that cannot be one: it is mapped, run, or somebody's directory. CRIU tells files apart
 * by device and inode, and an overlay shows files of its writable part and of a layer below, where both are of one file
 * system, under the same two numbers. Such a dump cannot be restored.
 * @param images directory with CRIU's images
 */
export function hasConfusedFiles(images: string): boolean {
  let left = MAX_BYTES;
  const read = (name: string): Buffer[] => {
    const path = join(images, name);
    left -= statSync(path).size;
    return left < 0 ? [] : entriesOf(readFileSync(path));
  };
  const fifos = new Set(read('files.img').flatMap(fifoOf));
  if (fifos.size === 0) return false;
  return readdirSync(images).some((name) => {
    const idsOf = name.startsWith('mm-') ? mappedFiles : name.startsWith('fs-') ? directories : undefined;
    return idsOf !== undefined && read(name).some((entry) => idsOf(entry).some((id) => fifos.has(id)));
  });
}

function entriesOf(image: Buffer): Buffer[] {
  const entries: Buffer[] = [];
  for (let at = HEADER_BYTES; at + LENGTH_BYTES <= image.length; ) {
    const end = at + LENGTH_BYTES + image.readUInt32LE(at);
    entries.push(image.subarray(at + LENGTH_BYTES, end));
    at = end;
  }
  return entries;
}

/** `file_entry`: kind 1, id 2. */
function fifoOf(entry: Buffer): number[] {
  const numbers = numbersOf(entry, [1, 2]);
  return numbers.get(1) === FIFO ? [numbers.get(2)!] : [];
}

/** `mm_entry`: exe_file_id 12, vmas 14 with shmid 4 and status 7. */
function mappedFiles(entry: Buffer): number[] {
  const found: number[] = [];
  const reader = new BinaryReader(entry);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === 12) found.push(reader.uint32());
    else if (field === 14) {
      const mapping = numbersOf(reader.bytes(), [4, 7]);
      if (((mapping.get(7) ?? 0) & FILE_MAPPING) !== 0) found.push(mapping.get(4) ?? 0);
    } else reader.skip(type);
  }
  return found;
}

/** `fs_entry`: cwd_id 1, root_id 2. */
function directories(entry: Buffer): number[] {
  return [...numbersOf(entry, [1, 2]).values()];
}

/** Fields of a message that are numbers. */
function numbersOf(message: Uint8Array, wanted: readonly number[]): Map<number, number> {
  const numbers = new Map<number, number>();
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (wanted.includes(field)) numbers.set(field, Number(reader.uint64()));
    else reader.skip(type);
  }
  return numbers;
}
