import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPipeSource } from '../../src/process/pipes.js';

const directory = mkdtempSync(join(tmpdir(), 'pipes-'));
const full = join(directory, 'full');
const memory = join(directory, 'memory');
mkdirSync(full);
mkdirSync(memory);

/** A file system on which not one more file can be made. */
function mountFull(): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'nr_inodes=1', 'tmpfs', full], { stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
}

const mounted = mountFull();
if (!mounted) console.warn('pipes on a full disk: skipped: nothing can be mounted here');

describe('pipes of programs', () => {
  afterAll(() => {
    if (mounted) execFileSync('umount', [full]);
    rmSync(directory, { recursive: true });
  });

  describe.skipIf(!mounted)('when the disk is full', () => {
    beforeAll(() => expect(() => mkdirSync(join(full, 'more'))).toThrow('ENOSPC'));

    it('are made in memory, and leave no name there', async () => {
      const pipes = await createPipeSource(full, memory).take(true);
      try {
        expect(pipes.stdin).toBeDefined();
        expect(readdirSync(memory)).toEqual([]);
      } finally {
        pipes.close();
      }
    });

    it('fail with what the system says where memory is full too', async () => {
      await expect(createPipeSource(full, full).take(true)).rejects.toThrow('ENOSPC');
    });
  });

  it('fail where their directory is missing: only a full disk is no fault', async () => {
    await expect(createPipeSource(join(directory, 'none'), memory).take(true)).rejects.toThrow('ENOENT');
  });
});
