import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFAULT_POOL, idBlocks, requireUsable } from '../../src/linux-driver/ids/blocks.js';
import { claimBlock, releaseBlock } from '../../src/linux-driver/ids/claim-block.js';
import { IdRanges } from '../../src/linux-driver/ids/id-ranges.js';
import { moveUserNamespace } from '../../src/linux-driver/ids/userns-image.js';
import { pathsOf } from '../../src/linux-driver/state/paths.js';

describe('ranges of ids', () => {
  it('are given one by one, and again only when they came back', () => {
    const ranges = new IdRanges(0x20000000, 3);
    expect([ranges.take(), ranges.take()]).toEqual([0x20000000, 0x20010000]);
    ranges.release(0x20000000);
    expect([ranges.take(), ranges.take()]).toEqual([0x20020000, 0x20000000]);
    expect(() => ranges.take()).toThrow('All user ids');
  });

  it('leave out those that are in use', () => {
    const ranges = new IdRanges(0, 2);
    ranges.reserve(0);
    expect(ranges.take()).toBe(65_536);
  });
});

/** Of a driver on a host of its own: others run on this machine at the same time. */
const ownPaths = (root: string, name: string) => ({
  ...pathsOf(mkdtempSync(join(root, name))),
  idClaims: join(root, 'claims'),
});

describe('blocks of ids', () => {
  it('do not overlap, and stay in the pool', () => {
    const blocks = idBlocks(DEFAULT_POOL, 'ffffffff', '');
    expect(blocks).toHaveLength(24);
    const firsts = blocks.map(({ first }) => first);
    expect(new Set(firsts).size).toBe(24);
    expect(Math.min(...firsts)).toBe(0x20000000);
    expect(Math.max(...firsts) + 2 ** 26 - 1).toBe(0x7fffffff);
  });

  it('leave out what other users of the host have', () => {
    const blocks = idBlocks(DEFAULT_POOL, '00000000', 'user:100000:65536\nother:604000000:70000\n# none\n\n');
    expect(blocks.map(({ first }) => first)).not.toContain(0x20000000 + 2 ** 26);
    expect(blocks).toHaveLength(23);
  });

  it('belong to one data directory each, also when another comes later or one was removed by hand', () => {
    const root = mkdtempSync(join(tmpdir(), 'blocks-'));
    const pool = { first: 0x10000000, count: 2 * 2 ** 26 };
    const [one, two, three] = ['one', 'two', 'three'].map((name) => ownPaths(root, name));
    try {
      const first = claimBlock(one!, pool);
      expect(claimBlock(two!, pool)).not.toEqual(first);
      expect(claimBlock(three!, pool)).toBeUndefined();
      expect(claimBlock(one!, pool)).toEqual(first);
      releaseBlock(one!);
      expect(claimBlock(three!, pool)).toEqual(first);
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});

describe('ids that an operator chose', () => {
  const IDS = 65_536;

  it('are one block when they are few', () => {
    expect(idBlocks({ first: 200_000, count: 3 * IDS + 5 }, 'ffffffff', '')).toEqual([
      { first: 200_000, count: 3 * IDS },
    ]);
  });

  it.each([
    [{ first: 65_535, count: IDS }, /below 65536 are the host's own/],
    [{ first: 100_000.5, count: IDS }, /cannot be given/],
    [{ first: 100_000, count: IDS - 1 }, /needs 65536 of them/],
    [{ first: 0x7fff0001, count: IDS }, /must not be above 2147483647/],
    [{ first: 165_535, count: IDS }, /gives 100000 to 165535 to "somebody"; choose others/],
  ])('are refused with the reason: %j', (pool, reason) => {
    expect(() => requireUsable(pool, 'somebody:100000:65536\n')).toThrow(reason);
  });

  it('are accepted beside those of others', () => {
    expect(() => requireUsable({ first: 165_536, count: IDS }, 'somebody:100000:65536\n')).not.toThrow();
  });

  it('are of nobody else when another data directory has a block that begins at other ids', () => {
    const root = mkdtempSync(join(tmpdir(), 'blocks-'));
    const [one, two] = ['one', 'two'].map((name) => ownPaths(root, name));
    try {
      const first = 0x18000000;
      expect(claimBlock(one!, { first, count: 4 * IDS })).toEqual({ first, count: 4 * IDS });
      expect(claimBlock(two!, { first: first + 3 * IDS, count: 2 * IDS })).toBeUndefined();
      expect(claimBlock(two!, { first: first + 4 * IDS, count: IDS })).toMatchObject({ count: IDS });
      // A running sandbox keeps its ids; without it the new ones are taken, and the old ones are free.
      const moved = { first: first + 5 * IDS, count: IDS };
      expect(claimBlock(one!, moved, true)).toMatchObject({ first });
      expect(claimBlock(one!, moved)).toEqual(moved);
      expect(claimBlock(two!, { first, count: 4 * IDS })).toMatchObject({ first });
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});

describe("CRIU's image of a user namespace", () => {
  it('is moved to another range', () => {
    const header = Buffer.from('194356540000000000000000', 'hex');
    const moved = moveUserNamespace(Buffer.concat([header, Buffer.from('junk')]), 0x20000000);
    expect(moved.subarray(0, 8)).toEqual(header.subarray(0, 8));
    expect(moved.readUInt32LE(8)).toBe(moved.length - 12);
    const extent = '0800108080808002188080 04'.replace(' ', '');
    expect(moved.subarray(12).toString('hex')).toBe(`0a0c${extent}120c${extent}`);
  });
});
