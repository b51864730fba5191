import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@svc/support/eventually';
import { processStart } from '@svc/support/process-identity';
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

  it('of daemons that were killed go with the next daemon; those of living ones, and what is no folder of ours, stay', async () => {
    const root = mkdtempSync(join(directory, 'root-'));
    const start = processStart(process.pid);
    // No process of now has begun at that time.
    const dead = `.envd-${process.pid}-0-abcdef`;
    const kept = [
      `.envd-${process.pid}-${start}-abcdef`,
      '.envd-abcdef',
      'other',
      `.envd-${process.pid}-0-file`,
    ];
    for (const name of [dead, ...kept.slice(0, 3)]) {
      mkdirSync(join(root, name));
      execFileSync('mkfifo', [join(root, name, '0'), join(root, name, '35')]);
    }
    writeFileSync(join(root, kept[3]!), '');
    const outside = join(root, 'other');
    symlinkSync(outside, join(root, `.envd-${process.pid}-0-link`));
    kept.push(`.envd-${process.pid}-0-link`);
    const source = createPipeSource(root, root);
    (await source.take(true)).close();
    await eventually('the folder to go', () => !readdirSync(root).includes(dead) || undefined);
    expect(readdirSync(root).sort()).toEqual(kept.sort());
    expect(readdirSync(outside).sort()).toEqual(['0', '35']);
  });

  it('fail where their directory is missing: only a full disk is no fault', async () => {
    await expect(createPipeSource(join(directory, 'none'), memory).take(true)).rejects.toThrow('ENOENT');
  });
});
