import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasConfusedFiles } from '../src/linux-driver/criu/confused-files.js';

const [REGULAR, FIFO] = [1, 3];
const PRIVATE_MAPPING = 0x41;
const ANONYMOUS_MAPPING = 0x201;

type Fields = Record<number, number | Uint8Array | Uint8Array[]>;

function message(fields: Fields): Uint8Array {
  const writer = new BinaryWriter();
  for (const [field, value] of Object.entries(fields))
    for (const each of Array.isArray(value) ? value : [value]) {
      if (typeof each === 'number') writer.tag(Number(field), 0).uint64(each);
      else writer.tag(Number(field), 2).bytes(each);
    }
  return writer.finish();
}

describe('the images of a dump', () => {
  let images: string;
  beforeEach(() => {
    images = mkdtempSync(join(tmpdir(), 'images-'));
  });
  afterEach(() => rmSync(images, { recursive: true }));

  function image(name: string, ...entries: Fields[]): void {
    const parts = entries.flatMap((entry) => {
      const bytes = message(entry);
      const length = Buffer.alloc(4);
      length.writeUInt32LE(bytes.length);
      return [length, bytes];
    });
    writeFileSync(join(images, name), Buffer.concat([Buffer.alloc(8), ...parts]));
  }
  const mapping = (file: number, state: number) => message({ 1: 0x7f00, 2: 0x8f00, 4: file, 7: state });
  const process = (fields: { exe?: number; mappings?: Uint8Array[] }) => ({
    12: fields.exe ?? 1,
    13: message({ 1: 5 }),
    14: fields.mappings ?? [],
  });

  it.each([
    ['files that are mapped and run', process({ mappings: [mapping(1, PRIVATE_MAPPING)] }), false],
    [
      'a mapping without a file that has the number of a FIFO',
      process({ mappings: [mapping(2, ANONYMOUS_MAPPING)] }),
      false,
    ],
    [
      'a FIFO that is mapped',
      process({ mappings: [mapping(1, PRIVATE_MAPPING), mapping(2, PRIVATE_MAPPING)] }),
      true,
    ],
    ['a FIFO that runs', process({ exe: 2 }), true],
  ])('with %s', (_title, mm, confused) => {
    image('files.img', { 1: REGULAR, 2: 1 }, { 1: FIFO, 2: 2 });
    image('fs-1.img', { 1: 1, 2: 1, 3: 0o22 });
    image('mm-1.img', mm);
    expect(hasConfusedFiles(images)).toBe(confused);
  });

  it('with a FIFO as the directory of a program', () => {
    image('files.img', { 1: REGULAR, 2: 1 }, { 1: FIFO, 2: 2 });
    image('fs-7.img', { 1: 2, 2: 1 });
    expect(hasConfusedFiles(images)).toBe(true);
  });

  it('are not all read where there are more than anybody should wait for', () => {
    image('files.img', { 1: FIFO, 2: 2 });
    writeFileSync(join(images, 'mm-1.img'), Buffer.alloc(9 * 2 ** 20));
    expect(hasConfusedFiles(images)).toBe(false);
  });
});
