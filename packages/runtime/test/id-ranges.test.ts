import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFAULT_POOL, idBlocks } from '../src/linux-driver/ids/blocks.js';
import { claimBlock, releaseBlock } from '../src/linux-driver/ids/claim-block.js';
import { IdRanges } from '../src/linux-driver/ids/id-ranges.js';
import { moveUserNamespace } from '../src/linux-driver/ids/userns-image.js';
import { pathsOf } from '../src/linux-driver/state/paths.js';

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

describe('blocks of ids', () => {
  it('do not overlap, and stay in the pool', () => {
    const blocks = idBlocks(DEFAULT_POOL, 'ffffffff', '');
    expect(blocks).toHaveLength(24);
    expect(new Set(blocks).size).toBe(24);
    expect(Math.min(...blocks)).toBe(0x20000000);
    expect(Math.max(...blocks) + 2 ** 26 - 1).toBe(0x7fffffff);
  });

  it('leave out what other users of the host have', () => {
    const blocks = idBlocks(DEFAULT_POOL, '00000000', 'user:100000:65536\nother:604000000:70000\n# none\n\n');
    expect(blocks).not.toContain(0x20000000 + 2 ** 26);
    expect(blocks).toHaveLength(23);
  });

  it('belong to one data directory each, also when another comes later or one was removed by hand', () => {
    const root = mkdtempSync(join(tmpdir(), 'blocks-'));
    const pool = { first: 0x70000000, last: 0x70000000 + 2 * 2 ** 26 - 1 };
    const directories = ['one', 'two', 'three'].map((name) => pathsOf(mkdtempSync(join(root, name))));
    const [one, two, three] = directories;
    try {
      const first = claimBlock(one!, pool);
      expect(claimBlock(two!, pool)).not.toBe(first);
      expect(claimBlock(three!, pool)).toBeUndefined();
      expect(claimBlock(one!, pool)).toBe(first);
      releaseBlock(one!);
      expect(claimBlock(three!, pool)).toBe(first);
    } finally {
      for (const paths of directories) releaseBlock(paths);
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
