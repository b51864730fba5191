import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { DEFAULT_ARCHIVE_LIMITS } from '@svc/runtime/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readTar } from '../../src/templates/builds/files/tar.js';
import { openDockerArchive } from '../../src/templates/builds/images/docker-archive.js';
import type { LocalImage } from '../../src/templates/builds/images/image.js';
import { openOciLayout } from '../../src/templates/builds/images/oci-layout.js';
import { squashImage } from '../../src/templates/builds/images/squash.js';
import { sha256, type TarFile, tarOf } from '../support/templates.js';
import { byZstd, type ImageOptions, writeOciLayout } from './oci-fixture.js';

const able = spawnSync('zstd', ['--version']).status === 0;
const parallel = spawnSync('pzstd', ['--version']).status === 0;

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'svc-layers-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const ENTRIES: TarFile[] = [
  { name: 'first', content: 'a'.repeat(3_000) },
  { name: 'second', content: 'b'.repeat(3_000) },
];
/** Where the second entry of the tar begins: its first part is a tar without an end. */
const SECOND = 512 + 3_072;

async function contentsOf(image: LocalImage): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  const tar = await squashImage(image, DEFAULT_ARCHIVE_LIMITS, AbortSignal.timeout(60_000));
  for await (const { header, content } of readTar(tar, {})) {
    const chunks: Buffer[] = [];
    for await (const chunk of content) chunks.push(chunk);
    if (header.type === 'file') files[header.name] = Buffer.concat(chunks).toString();
  }
  return files;
}

async function ofLayout(layers: (TarFile[] | Buffer)[], options: ImageOptions): Promise<LocalImage> {
  await writeOciLayout(directory, layers, options);
  return openOciLayout(directory, undefined, DEFAULT_ARCHIVE_LIMITS);
}

/** The same as `docker save` writes it, unpacked. */
async function ofDocker(layers: TarFile[][], { pack, diffIds = (all) => all }: ImageOptions) {
  const tars = await Promise.all(layers.map((entries) => tarOf(entries)));
  for (const [index, tar] of tars.entries()) {
    await mkdir(path.join(directory, `l${index}`));
    await writeFile(path.join(directory, `l${index}`, 'layer.tar'), pack === undefined ? tar : pack(tar));
  }
  const diff_ids = diffIds(tars.map((tar) => `sha256:${sha256(tar)}`));
  await writeFile(path.join(directory, 'c.json'), JSON.stringify({ rootfs: { type: 'layers', diff_ids } }));
  const saved = [{ Config: 'c.json', Layers: tars.map((_, index) => `l${index}/layer.tar`) }];
  await writeFile(path.join(directory, 'manifest.json'), JSON.stringify(saved));
  return openDockerArchive(directory, undefined, DEFAULT_ARCHIVE_LIMITS);
}

const ways = [
  ['an OCI layout', ofLayout],
  ['a Docker archive', ofDocker],
] as const;

function skippable(bytes: number, kind = 0): Buffer {
  const frame = Buffer.alloc(8 + bytes, 'x');
  frame.writeUInt32LE(0x184d2a50 + kind, 0);
  frame.writeUInt32LE(bytes, 4);
  return frame;
}

const inTwo = (pack: (part: Buffer) => Buffer, between: Buffer = Buffer.alloc(0)) => {
  return (tar: Buffer) => Buffer.concat([pack(tar.subarray(0, SECOND)), between, pack(tar.subarray(SECOND))]);
};

describe.each(ways)('a layer of %s comes whole', (_way, open) => {
  it.each<[string, (tar: Buffer) => Buffer, boolean]>([
    ['plain', (tar) => tar, true],
    ['by gzip', (tar) => gzipSync(tar), true],
    ['by gzip in several members', inTwo((part) => gzipSync(part)), true],
    ['by gzip with zeros behind it', (tar) => Buffer.concat([gzipSync(tar), Buffer.alloc(700)]), true],
    ['by zstd', byZstd, able],
    ['by zstd in several frames', inTwo(byZstd), able],
    ['by zstd behind a frame to skip', (tar) => Buffer.concat([skippable(4), byZstd(tar)]), able],
    ['by zstd behind another to skip', (tar) => Buffer.concat([skippable(99, 15), byZstd(tar)]), able],
    ['by zstd around a frame to skip', inTwo(byZstd, skippable(1_000, 7)), able],
    ['by zstd before a frame to skip', (tar) => Buffer.concat([byZstd(tar), skippable(64)]), able],
    ['by pzstd', (tar) => execFileSync('pzstd', ['-cq', '-p', '2'], { input: tar }), parallel],
  ])('packed %s', async (_name, pack, possible) => {
    if (!possible) return;
    const image = await open([[{ name: 'below', content: '1' }], ENTRIES], { pack });
    expect(await contentsOf(image)).toEqual({
      below: '1',
      first: 'a'.repeat(3_000),
      second: 'b'.repeat(3_000),
    });
  });
});

const ended = (tar: Buffer) => Buffer.concat([tar.subarray(0, SECOND), Buffer.alloc(1_024)]);

describe.each(ways)('a layer of %s of which a part is missing is refused', (_way, open) => {
  it.each<[string, (tar: Buffer) => Buffer, boolean]>([
    ['whose tar ends after its first entry', (tar) => gzipSync(ended(tar)), true],
    ['plain, whose tar ends after its first entry', ended, true],
    ['whose decoder takes the rest for padding', inTwo((part) => gzipSync(part), Buffer.alloc(9)), true],
    ['of which zstd has the first frame alone', (tar) => byZstd(ended(tar)), able],
    ['with something more at its end', (tar) => gzipSync(Buffer.concat([tar, Buffer.alloc(512)])), true],
  ])('%s', async (_name, pack, possible) => {
    if (!possible) return;
    const image = await open([[{ name: 'below' }], ENTRIES], {
      pack: (tar) => (tar.includes('bbb') ? pack(tar) : tar),
    });
    await expect(contentsOf(image)).rejects.toThrow(
      /layer 2 of 2: (it unpacks to sha256:\w+, .*diff_ids\) says sha256:\w+|it was cut off)/,
    );
  });

  it.each<[string, (tar: Buffer) => Buffer, boolean]>([
    ['by gzip', (tar) => gzipSync(tar).subarray(0, -20), true],
    ['by gzip in its second member', (tar) => inTwo((part) => gzipSync(part))(tar).subarray(0, -9), true],
    ['by gzip, with rubbish behind it', (tar) => Buffer.concat([gzipSync(tar), Buffer.from('rest')]), true],
    ['by zstd', (tar) => byZstd(tar).subarray(0, -8), able],
    ['by zstd in its second frame', (tar) => inTwo(byZstd)(tar).subarray(0, -8), able],
    ['by zstd, with rubbish behind it', (tar) => Buffer.concat([byZstd(tar), Buffer.from('rest')]), able],
  ])('cut off: %s', async (_name, pack, possible) => {
    if (!possible) return;
    const image = await open([ENTRIES], { pack });
    await expect(contentsOf(image)).rejects.toThrow(/layer 1 of 1: it cannot be read/);
  });

  it.each<[string, (digests: string[]) => unknown[], RegExp]>([
    ['fewer layers', ([first]) => [first], /manifest lists 2 layers, and its configuration 1/],
    ['more layers', (all) => [...all, all[0]], /manifest lists 2 layers, and its configuration 3/],
    ['none', () => [], /manifest lists 2 layers, and its configuration 0/],
    ['no digest', ([first]) => [first, 7], /layer 2 of 2 has no sha256 digest/],
    ['another kind of digest', ([first]) => [`sha512:${first}`, first], /layer 1 of 2 has no sha256 digest/],
  ])('when its configuration tells of %s', async (_name, diffIds, message) => {
    await expect(open([ENTRIES, ENTRIES], { diffIds })).rejects.toThrow(message);
  });

  it('when layers stand in another order than their digests', async () => {
    const image = await open([[{ name: 'below' }], ENTRIES], { diffIds: (all) => all.toReversed() });
    await expect(contentsOf(image)).rejects.toThrow(/layer 1 of 2: it unpacks to/);
  });
});

describe('a tar without its end', () => {
  it.each([512, 1_024])('is refused as a layer, %d bytes short', async (bytes) => {
    const image = await ofLayout([(await tarOf(ENTRIES)).subarray(0, -bytes)], {});
    await expect(contentsOf(image)).rejects.toThrow(/layer 1 of 1: it was cut off/);
  });

  it('is no empty layer: that has an end', async () => {
    const image = await ofLayout([Buffer.alloc(1_024), ENTRIES], {});
    expect(Object.keys(await contentsOf(image))).toEqual(['first', 'second']);
    await rm(directory, { recursive: true });
    await expect(contentsOf(await ofLayout([Buffer.alloc(0)], {}))).rejects.toThrow(/it is empty/);
  });
});

it('a layer that tools leave where it is, is named', async () => {
  const mediaType = 'application/vnd.oci.image.layer.nondistributable.v1.tar+gzip';
  const layer = gzipSync(await tarOf(ENTRIES), { level: 1 });
  expect(Object.keys(await contentsOf(await ofLayout([ENTRIES], { mediaType })))).toEqual([
    'first',
    'second',
  ]);
  await unlink(path.join(directory, 'blobs', 'sha256', sha256(layer)));
  await expect(openOciLayout(directory, undefined, DEFAULT_ARCHIVE_LIMITS)).rejects.toThrow(
    /a layer that is kept elsewhere, sha256:\w+ \(application.*nondistributable/,
  );
});
