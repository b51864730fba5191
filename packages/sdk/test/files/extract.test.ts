import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tar, { type Header } from 'tar-stream';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { localFiles } from '../../src/runtime/node-files/index.js';

let scratch: string;
let root: string;
let outside: string;
/** Why each entry was left out. */
let skipped: Record<string, string>;
let foldsCase: (() => Promise<boolean>) | undefined;
beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'svc-extract-'));
  root = join(scratch, 'root');
  outside = join(scratch, 'outside');
  await mkdir(outside);
  foldsCase = undefined;
});
afterEach(() => rm(scratch, { recursive: true, force: true }));

type Entry = [Partial<Header> & { name: string }, string?];

function extract(...entries: Entry[]): Promise<void> {
  const archive = tar.pack();
  for (const [header, content] of entries) archive.entry(header as Header, content ?? '');
  archive.finalize();
  skipped = {};
  return localFiles.extract(root, archive as AsyncIterable<Uint8Array>, {
    excludes: (path) => path === 'excluded',
    vcs: false,
    foldsCase,
    onSkipped: (path, reason) => {
      skipped[path] = reason;
    },
  });
}

const modeOf = async (name: string) => (await lstat(join(root, name))).mode & 0o7777;

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
  await expect(localFiles.extract(root, broken(), { excludes: () => false, vcs: false })).rejects.toThrow(
    'the stream broke',
  );
});

it('gives no right that the caller did not ask for: not to run as its owner, not to write for others', async () => {
  const before = process.umask(0);
  try {
    const modes = [0o7777, 0o4755, 0o2755, 0o1644, 0o666, 0o400, 0o622];
    const wanted = [0o755, 0o755, 0o755, 0o644, 0o644, 0o400, 0o600];
    await extract(...modes.map((mode): Entry => [{ name: `f${mode}`, mode }, 'x']), [
      { name: 'd', type: 'directory', mode: 0o7777 },
    ]);
    expect(await Promise.all(modes.map((mode) => modeOf(`f${mode}`)))).toEqual(wanted);
    expect(await modeOf('d')).toBe(0o755);
    process.umask(0o077);
    await extract([{ name: 'private', mode: 0o777 }], [{ name: 'e', type: 'directory', mode: 0o755 }]);
    expect([await modeOf('private'), await modeOf('e')]).toEqual([0o700, 0o700]);
    process.umask(0o022);
    // A directory that was there is its owner's.
    await extract([{ name: 'e', type: 'directory', mode: 0o755 }], [{ name: 'e/f', mode: 0o755 }, 'x']);
    expect([await modeOf('e'), await modeOf('e/f')]).toEqual([0o700, 0o755]);
  } finally {
    process.umask(before);
  }
});

it('writes into a directory that nobody may write, and leaves it so', async () => {
  await extract(
    [{ name: 'd', type: 'directory', mode: 0o555 }],
    [{ name: 'd/f' }, 'x'],
    [{ name: 'd/l', type: 'symlink', linkname: 'f' }],
  );
  expect(await modeOf('d')).toBe(0o555);
  expect(await readdir(join(root, 'd'))).toEqual(['f', 'l']);
});

it('leaves out links that lead out of the root, and says which', async () => {
  await extract(
    [{ name: 'sub/fine', type: 'symlink', linkname: '../a' }],
    [{ name: 'abs', type: 'symlink', linkname: '/etc/shadow' }],
    [{ name: 'sub/up', type: 'symlink', linkname: '../../outside' }],
    [{ name: 'around', type: 'symlink', linkname: 'sub/../../outside' }],
    [{ name: 'fifo', type: 'fifo' }],
    [{ name: 'device', type: 'character-device' }],
  );
  expect(await readdir(root, { recursive: true })).toEqual(['sub', 'sub/fine']);
  expect(skipped).toEqual({
    abs: 'the link is absolute',
    'sub/up': 'the link leads out of the directory',
    around: 'the link has .. behind a name',
    fifo: 'it is no file, directory or link',
    device: 'it is no file, directory or link',
  });
});

it('keeps what is in the place of a link that leads out', async () => {
  await extract([{ name: 'a' }, 'mine']);
  await extract([{ name: 'a', type: 'symlink', linkname: '/etc/shadow' }]);
  expect(await readFile(join(root, 'a'), 'utf8')).toBe('mine');
});

it('leaves out version control, in any case of its name, and reports it once', async () => {
  await extract(
    [{ name: '.git', type: 'directory' }],
    [{ name: '.git/hooks/pre-commit', mode: 0o755 }, 'evil'],
    [{ name: 'sub/.GIT/config' }, 'evil'],
    [{ name: 'sub/.git' }, 'gitdir: elsewhere'],
    [{ name: '.gitignore' }, 'x'],
  );
  expect((await readdir(root)).sort()).toEqual(['.gitignore']);
  expect(Object.keys(skipped).sort()).toEqual(['.git', 'sub/.GIT', 'sub/.git']);
});

it('leaves out hard links whose other name is left out, and keeps those to links', async () => {
  await extract(
    [{ name: '.git/object' }, 'x'],
    [{ name: 'excluded' }, 'x'],
    [{ name: 'b', type: 'link', linkname: '.git/object' }],
    [{ name: 'c', type: 'link', linkname: 'excluded' }],
    [{ name: 'l', type: 'symlink', linkname: 'nowhere' }],
    [{ name: 'm', type: 'link', linkname: 'l' }],
  );
  expect((await readdir(root)).sort()).toEqual(['l', 'm']);
  expect(skipped).toMatchObject({
    b: expect.stringContaining('.git/object'),
    c: expect.stringContaining('excluded'),
  });
});

it('keeps the first of two files that have one name on a file system that ignores case', async () => {
  const twins: Entry[] = [
    [{ name: 'Read.me' }, 'first'],
    [{ name: 'read.ME' }, 'second'],
  ];
  await extract(...twins);
  expect(await readdir(root)).toHaveLength(2);
  foldsCase = async () => true;
  await extract(...twins);
  expect(skipped).toEqual({ 'read.ME': 'Read.me has the same name on this machine' });
  expect(await readFile(join(root, 'Read.me'), 'utf8')).toBe('first');
});

it('leaves out names that are more than a name on Windows', async () => {
  const platform = vi.spyOn(process, 'platform', 'get').mockReturnValue('win32');
  try {
    await extract([{ name: '..\\x' }, 'evil'], [{ name: 'c:x' }, 'evil'], [{ name: 'ok' }, 'x']);
    expect(Object.keys(skipped)).toEqual(['..\\x', 'c:x']);
    expect(await readdir(root)).toEqual(['ok']);
  } finally {
    platform.mockRestore();
  }
});
