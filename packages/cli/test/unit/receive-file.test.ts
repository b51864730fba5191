import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { localTarget, receiveFile } from '../../src/local/receive-file.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-receive-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

async function* content(...parts: string[]) {
  for (const part of parts) {
    if (part === 'broken') throw new Error(part);
    yield Buffer.from(part);
  }
}

it.each(['a/b', 'b', '/x/b', '~/b', 'b/'])('puts %s into a directory as b', async (remote) => {
  expect(await localTarget(remote, directory)).toBe(join(directory, 'b'));
  expect(await localTarget(remote, 'not-there/')).toBe(join('not-there', 'b'));
  expect(await localTarget(remote, join(directory, 'c'))).toBe(join(directory, 'c'));
});

it.each(['..', 'a/..', '.', 'a/.', '/', '~', '//'])('has no name for %s in a directory', async (remote) => {
  await expect(localTarget(remote, directory)).rejects.toThrow('ends with no name');
  expect(await localTarget(remote, join(directory, 'c'))).toBe(join(directory, 'c'));
});

it('leaves what was there, and no draft, when the content breaks off', async () => {
  const target = join(directory, 'f');
  await receiveFile(target, 0o644, content('first'));
  await expect(receiveFile(target, 0o644, content('second', 'broken'))).rejects.toThrow('broken');
  expect(await readFile(target, 'utf8')).toBe('first');
  expect(await readdir(directory)).toEqual(['f']);
});

it.each(['not-there/x', 'file/x'])(
  'names the directory that %s is missing, not the file beside it',
  async (name) => {
    await writeFile(join(directory, 'file'), '');
    await expect(receiveFile(join(directory, name), 0o644, content('first'))).rejects.toThrow(
      `there is no directory ${join(directory, dirname(name))}.`,
    );
  },
);
