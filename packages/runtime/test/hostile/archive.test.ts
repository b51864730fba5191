import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ArchiveError, type ArchiveLimits } from '../../src/archive/archive-limits.js';
import { meterExpansion } from '../../src/archive/meter-expansion.js';
import { type GuardOptions, guardTar } from '../../src/archive/tar-guard.js';
import { forgeArchive, randomNumbers } from '../../src/testing/forge-archive.js';
import { paxRecord, tarBytes } from '../../src/testing/tar.js';

async function guarded(
  archive: Buffer,
  options: GuardOptions = {},
  pieceBytes = archive.length,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let at = 0; at < archive.length; at += pieceBytes) pieces.push(archive.subarray(at, at + pieceBytes));
  const out: Buffer[] = [];
  for await (const chunk of guardTar(Readable.from(pieces), options)) out.push(chunk);
  return Buffer.concat(out);
}

const limit = (limits: Partial<ArchiveLimits>): GuardOptions => ({ limits });

describe('the guard of tar archives', () => {
  it('passes on what is harmless byte by byte, however it arrives', async () => {
    const archive = tarBytes([
      { name: 'directory/', type: 'directory' },
      { name: 'pax', type: 'pax', content: paxRecord('path', `long/${'n'.repeat(200)}`) },
      { name: 'file', content: 'x'.repeat(1_500) },
      { name: 'gnu', type: 'longName', content: `${'l'.repeat(300)}\0` },
      { name: 'link', type: 'symlink', linkname: '/anywhere' },
      { name: 'hard', type: 'link', linkname: 'file' },
    ]);
    for (const pieceBytes of [1, 511, 512, 4_096, archive.length])
      expect((await guarded(archive, {}, pieceBytes)).equals(archive)).toBe(true);
  });

  it('leaves out devices, pipes and global headers, with what belongs to them', async () => {
    const file = { name: 'file', content: 'x' };
    const archive = tarBytes([
      { name: 'global', type: 'globalPax', content: paxRecord('path', 'everywhere') },
      { name: 'pax', type: 'pax', content: paxRecord('path', 'the-disk') },
      { name: 'disk', type: 'block', device: { major: 254, minor: 0 } },
      { name: 'memory', type: 'character', device: { major: 1, minor: 1 } },
      { name: 'pipe', type: 'fifo' },
      file,
    ]);
    expect((await guarded(archive)).equals(tarBytes([file]))).toBe(true);
    await expect(guarded(archive, { special: 'refuse' })).rejects.toThrow(/neither a file/);
  });

  it('ends where the archive ends, regardless of the rest', async () => {
    const archive = tarBytes([{ name: 'file', content: 'x' }]);
    const more = Buffer.concat([archive, tarBytes([{ name: 'hidden', content: 'y' }])]);
    expect((await guarded(more)).equals(archive)).toBe(true);
  });

  const pax = (record: string) => ({ name: 'pax', type: 'pax' as const, content: record });
  it.each<[string, Buffer, GuardOptions, RegExp]>([
    ['too many entries', tarBytes([{ name: 'a' }, { name: 'b' }]), limit({ maxEntries: 1 }), /maxEntries/],
    ['a long name', tarBytes([pax(paxRecord('path', 'x'.repeat(4_097))), { name: 'f' }]), {}, /maxNameBytes/],
    [
      'a long target',
      tarBytes([pax(paxRecord('linkpath', 'x'.repeat(4_097))), { name: 'f' }]),
      {},
      /maxNameB/,
    ],
    [
      'a long GNU name',
      tarBytes([{ name: 'l', type: 'longName', content: 'x'.repeat(5_000) }]),
      {},
      /maxName/,
    ],
    [
      'much of names',
      tarBytes([{ name: 'aaaa' }, { name: 'bbbb' }]),
      limit({ maxNamesBytes: 6 }),
      /maxNamesB/,
    ],
    ['a deep path', tarBytes([pax(paxRecord('path', 'd/'.repeat(300))), { name: 'f' }]), {}, /maxDepth/],
    ['a large header', tarBytes([pax(paxRecord('comment', 'x'.repeat(2 ** 20)))]), {}, /maxHeaderBytes/],
    [
      'headers on headers',
      tarBytes(Array(3).fill(pax(paxRecord('a', 'b')))),
      limit({ maxHeaderBytes: 1_024 }),
      /maxHe/,
    ],
    [
      'a large body',
      tarBytes([{ name: 'f', content: 'x'.repeat(9_000) }]),
      limit({ maxBytes: 8_192 }),
      /maxBytes/,
    ],
    ['a claimed size', tarBytes([pax(paxRecord('size', '99999999999999')), { name: 'f' }]), {}, /maxBytes/],
    ['a negative size', tarBytes([pax(paxRecord('size', '-512')), { name: 'f' }]), {}, /out of range/],
    ['a broken pax record', tarBytes([pax('99999 path=x\n'), { name: 'f' }]), {}, /damaged/],
    ['a sparse file', tarBytes([{ name: 's', type: 'sparse' }]), {}, /not supported/],
    [
      'a sparse file of pax',
      tarBytes([pax(paxRecord('GNU.sparse.major', '1')), { name: 'f' }]),
      {},
      /sparse/,
    ],
    [
      'a link with a body',
      tarBytes([{ name: 'l', type: 'symlink', linkname: 'x', content: 'y' }]),
      {},
      /content/,
    ],
    ['a file named as a directory', tarBytes([{ name: 'd/', content: 'y' }]), {}, /content/],
    ['a zero byte in a name', tarBytes([pax(paxRecord('path', 'a\0b')), { name: 'f' }]), {}, /zero byte/],
    [
      'an end too early',
      tarBytes([{ name: 'f', content: 'x'.repeat(600) }]).subarray(0, 1_024),
      {},
      /middle/,
    ],
    ['an end that is missing', tarBytes([{ name: 'f' }]).subarray(0, -1_024), {}, /cut off/],
    ['half of an end', tarBytes([{ name: 'f' }]).subarray(0, -512), {}, /cut off/],
    [
      'an entry after half of an end',
      Buffer.concat([tarBytes([{ name: 'f' }]).subarray(0, -512), tarBytes([{ name: 'g' }])]),
      {},
      /cut off/,
    ],
    ['a header without its entry', tarBytes([pax(paxRecord('path', 'a'))]), {}, /middle/],
    ['rubbish', Buffer.alloc(4_096, 'no archive '), {}, /no tar archive/],
  ])('refuses %s', async (_, archive, options, why) => {
    await expect(guarded(archive, options)).rejects.toThrow(why);
    await expect(guarded(archive, options, 100)).rejects.toThrow(why);
  });

  it('refuses 5,000 names of 1 MB without holding more than one', async () => {
    const block = tarBytes([pax(paxRecord('path', 'n'.repeat(1_000_000))), { name: 'f' }]).subarray(
      0,
      -1_024,
    );
    let given = 0;
    async function* many() {
      for (; given < 5_000; given += 1) yield block;
    }
    const read = async () => {
      for await (const _ of guardTar(many()));
    };
    await expect(read()).rejects.toThrow(/maxNameBytes/);
    expect(given).toBe(0);
  });
});

describe('the meter of expansion', () => {
  const unpack = async (packed: Buffer, limits?: { maxBytes: number; maxExpansion: number }) => {
    const { compressed, unpacked } = meterExpansion(limits);
    let bytes = 0;
    await pipeline(Readable.from([packed]), compressed, createGunzip(), unpacked, async (chunks) => {
      for await (const chunk of chunks as AsyncIterable<Buffer>) bytes += chunk.length;
    });
    return bytes;
  };

  it('lets pass what is small or compressed as files are', async () => {
    expect(await unpack(gzipSync(Buffer.alloc(2 ** 20)))).toBe(2 ** 20);
  });

  it('stops what becomes a thousand times larger', async () => {
    const bomb = gzipSync(Buffer.alloc(100 * 2 ** 20));
    await expect(unpack(bomb)).rejects.toThrow(/maxExpansion/);
    await expect(unpack(bomb, { maxBytes: 2 ** 20, maxExpansion: 10_000 })).rejects.toThrow(/maxBytes/);
  });
});

describe('forged archives', () => {
  const count = Number(process.env.SVC_FUZZ_ARCHIVES ?? (process.env.SVC_HEAVY ? 100_000 : 3_000));

  it(`${count} of them are passed on or refused, never more, never slowly`, async () => {
    const seeds = [
      tarBytes([
        { name: 'a/', type: 'directory' },
        { name: 'a/b', content: 'x'.repeat(700) },
        { name: 'a/c', type: 'symlink', linkname: '../../etc' },
        { name: 'a/d', type: 'link', linkname: 'a/b' },
      ]),
      tarBytes([
        { name: 'p', type: 'pax', content: paxRecord('path', 'x/y') + paxRecord('size', '3') },
        { name: 'f', content: 'abc' },
        { name: 'g', type: 'globalPax', content: paxRecord('comment', 'hello') },
        { name: 'n', type: 'longName', content: `${'n'.repeat(120)}\0` },
        { name: 'k', type: 'longLink', content: `${'k'.repeat(120)}\0` },
        { name: 's', type: 'symlink', linkname: 'f' },
        { name: 'null', type: 'character', device: { major: 1, minor: 3 } },
      ]),
    ];
    const random = randomNumbers(20_261_122);
    const outcomes = { passed: 0, refused: 0 };
    for (let round = 0; round < count; round += 1) {
      const forged = forgeArchive(seeds[round % seeds.length]!, random);
      try {
        const out = await guarded(forged, { limits: { maxBytes: 65_536 } }, 1 + Math.floor(random() * 2_000));
        // An archive that passes once passes again and is the same then.
        expect((await guarded(out)).equals(out)).toBe(true);
        outcomes.passed += 1;
      } catch (error) {
        if (!ArchiveError.is(error)) throw error;
        outcomes.refused += 1;
      }
    }
    expect(outcomes.passed).toBeGreaterThan(count / 50);
    expect(outcomes.refused).toBeGreaterThan(count / 50);
  }, 600_000);
});
