import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { DEFAULT_ARCHIVE_LIMITS } from '@svc/runtime/contract';
import { type TarTestEntry, tarBytes } from '@svc/runtime/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planCopy } from '../../src/templates/builds/files/copy-plan.js';
import { listArchive, repackArchive } from '../../src/templates/builds/files/repack.js';
import { unzipped } from '../../src/templates/builds/files/tar.js';
import { readLayer } from '../../src/templates/builds/images/layer-stream.js';

const LEAST_BYTES = 128 * 1024;
const limits = DEFAULT_ARCHIVE_LIMITS;

/** Of a stream that is read to its end: how long its pieces are on average, and all of them. */
async function piecesOf(source: Readable): Promise<{ average: number; bytes: Buffer }> {
  const pieces: Buffer[] = [];
  for await (const piece of source) pieces.push(piece as Buffer);
  const bytes = Buffer.concat(pieces);
  return { average: bytes.length / pieces.length, bytes };
}

/** Each piece costs several turns of the event loop: with those of zlib, 16 KiB, twice the processor time of unpacking. */
describe('an archive of a build', () => {
  let directory: string;
  let file: string;
  let tar: Buffer;
  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'svc-pieces-'));
    file = path.join(directory, 'archive.tar.gz');
    const entries: TarTestEntry[] = Array.from({ length: 4_000 }, (_, index) => ({
      name: `files/${index}`,
      content: `${index} `.repeat(400),
    }));
    tar = tarBytes(entries);
    await writeFile(file, gzipSync(tar));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it.each([
    ['uploaded', () => unzipped(file, limits)],
    ['a layer', () => readLayer(file, limits)],
  ])('is unpacked in large pieces: %s', async (_, read) => {
    const { average, bytes } = await piecesOf(read());
    expect(bytes.equals(tar)).toBe(true);
    expect(average).toBeGreaterThan(LEAST_BYTES);
  });

  it('is passed on in large pieces, however small its files are', async () => {
    const plan = planCopy('files', await listArchive(file, limits));
    const { average, bytes } = await piecesOf(repackArchive(file, plan, limits));
    expect(bytes.includes('3999 3999 3999')).toBe(true);
    expect(average).toBeGreaterThan(LEAST_BYTES);
  });
});
