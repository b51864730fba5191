import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tar, { type Header } from 'tar-stream';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { localFiles } from '../../src/runtime/node-files/index.js';

let scratch: string;
let root: string;
let outside: string;
beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'svc-extract-'));
  root = join(scratch, 'root');
  outside = join(scratch, 'outside');
  await mkdir(outside);
});
afterEach(() => rm(scratch, { recursive: true, force: true }));

type Entry = [Partial<Header> & { name: string }, string?];

function extract(...entries: Entry[]): Promise<void> {
  const archive = tar.pack();
  for (const [header, content] of entries) archive.entry(header as Header, content ?? '');
  archive.finalize();
  return localFiles.extract(root, archive as AsyncIterable<Uint8Array>, { excludes: () => false });
}

it.each(['../outside/x', '/etc/x', 'a/../../outside/x', './../outside/x'])(
  'refuses the name %s',
  async (name) => {
    await expect(extract([{ name }, 'evil'])).rejects.toThrow(/outside the directory/);
    expect(await readdir(outside)).toEqual([]);
  },
);

it('writes nothing through a link of the archive, and says that the archive contradicts itself', async () => {
  const entries: Entry[] = [
    [{ name: 'link', type: 'symlink', linkname: outside }],
    [{ name: 'link/x' }, 'evil'],
  ];
  await expect(extract(...entries)).rejects.toThrow(/EEXIST/);
  expect(await readdir(outside)).toEqual([]);
});

it('writes nothing through a link that was there before', async () => {
  await mkdir(root);
  await symlink(outside, join(root, 'sub'));
  await extract([{ name: 'sub/x' }, 'text']);
  expect(await readdir(outside)).toEqual([]);
  expect(await readFile(join(root, 'sub/x'), 'utf8')).toBe('text');
  await symlink(join(outside, 'target'), join(root, 'file'));
  await extract([{ name: 'file' }, 'text']);
  expect((await lstat(join(root, 'file'))).isFile()).toBe(true);
  expect(await readdir(outside)).toEqual([]);
});

it('links hard only to files that it wrote itself', async () => {
  await extract([{ name: 'a' }, 'one'], [{ name: 'b', type: 'link', linkname: 'a' }]);
  expect(await readFile(join(root, 'b'), 'utf8')).toBe('one');
  await expect(extract([{ name: 'c', type: 'link', linkname: '../outside/secret' }])).rejects.toThrow(
    /outside the directory/,
  );
  await expect(extract([{ name: 'd', type: 'link', linkname: 'not-there' }])).rejects.toThrow(
    /not part of the download/,
  );
});

it('fails for an archive that ends early, with the reason of its source', async () => {
  async function* broken() {
    yield new Uint8Array(100);
    throw new Error('the stream broke');
  }
  await expect(localFiles.extract(root, broken(), { excludes: () => false })).rejects.toThrow(
    'the stream broke',
  );
});
