import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DirectoryLockedError, lockDirectory } from '../src/directory-lock.js';

describe('the lock of a directory', () => {
  const dead = JSON.stringify({ pid: process.pid, start: 'before', token: 'x' });
  let directory: string;
  const lock = () => lockDirectory(directory, 'a.lock');
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'lock-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('is held by one, is taken over from the dead, and leaves no file', async () => {
    const first = await lock();
    await expect(lock()).rejects.toThrow(DirectoryLockedError);
    await first.release();
    await first.release();
    await writeFile(join(directory, 'a.lock'), dead);
    const third = await lock();
    await third.release();
    await writeFile(join(directory, 'a.lock'), '');
    const fourth = await lock();
    await first.release();
    expect(await readdir(directory)).toEqual(['a.lock']);
    await fourth.release();
    expect(await readdir(directory)).toEqual([]);
  });

  it('goes to one of many who find a dead one at once', async () => {
    await writeFile(join(directory, 'a.lock'), dead);
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, lock));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await readdir(directory)).toEqual(['a.lock']);
  });
});
