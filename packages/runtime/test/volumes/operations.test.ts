import { lstat, open, readdir, readFile, readlink, symlink } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { VolumeError } from '../../src/contract.js';
import { fromErrno } from '../../src/volumes/errors.js';
import {
  changeEntry,
  createDirectory,
  deleteEntry,
  listEntries,
  openFile,
  readEntry,
  writeFile,
} from '../../src/volumes/operations.js';
import { openDirectory } from '../../src/volumes/resolve-in-root.js';
import { makeVolumeDirectory, outside, root } from '../support/volume-directory.js';

makeVolumeDirectory(['secret']);

const put = (at: string, text: string, force = false) =>
  writeFile(root, at, Readable.from([Buffer.from(text)]), { force, unique: `${Math.random()}` });

async function get(at: string): Promise<string> {
  return text((await openFile(root, at)).content);
}

/** The code that the caller would get. */
async function codeOf(operation: Promise<unknown>): Promise<string> {
  try {
    await operation;
    return 'ok';
  } catch (error) {
    return (fromErrno(error, 'x') as VolumeError).code;
  }
}

describe('files of a volume', () => {
  it('come back as they were written', async () => {
    const entry = await put('/a.txt', 'hello');
    expect(entry).toMatchObject({ name: 'a.txt', path: '/a.txt', type: 'file', size: 5, mode: 0o644 });
    expect(await get('a.txt')).toBe('hello');
  });

  it('are replaced and get their parents only with force', async () => {
    await put('/a', 'one');
    expect(await codeOf(put('/a', 'two'))).toBe('path_already_exists');
    expect(await codeOf(put('/x/y/b', 'two'))).toBe('path_not_found');
    await put('/a', 'two', true);
    await put('/x/y/b', 'three', true);
    expect([await get('/a'), await get('/x/y/b')]).toEqual(['two', 'three']);
  });

  it('stay as they were when an upload breaks', async () => {
    await put('/a', 'whole');
    const broken = Readable.from(
      (async function* () {
        yield Buffer.from('half');
        throw new Error('the client left');
      })(),
    );
    await expect(writeFile(root, '/a', broken, { force: true, unique: 'u' })).rejects.toThrow();
    expect(await get('/a')).toBe('whole');
    expect(await readdir(root)).toEqual(['a']);
  });

  it('are no directories', async () => {
    await createDirectory(root, '/d', {});
    expect(await codeOf(openFile(root, '/d'))).toBe('is_a_directory');
    expect(await codeOf(put('/d', 'x', true))).toBe('is_a_directory');
    expect(await codeOf(put('/', 'x', true))).toBe('is_a_directory');
    await put('/f', 'x');
    expect(await codeOf(put('/f/g', 'x', true))).toBe('not_a_directory');
  });

  it.each(['-rf', ' spaces ', 'new\nline', 'ünïcödé', 'x'.repeat(255), '%2e%2e', '...'])(
    'may be called %j',
    async (name) => {
      await put(`/${name}`, name);
      expect(await get(`/${name}`)).toBe(name);
      expect((await listEntries(root, '/', 1)).map((entry) => entry.name)).toEqual([name]);
    },
  );

  it('refuse names that are too long and zero bytes', async () => {
    expect(await codeOf(put(`/${'x'.repeat(256)}`, ''))).toBe('invalid_request');
    expect(await codeOf(put('/a\0b', ''))).toBe('invalid_request');
  });
});

describe('directories of a volume', () => {
  it('are listed in order, to the depth asked for', async () => {
    for (const at of ['/b/c/d', '/a']) await createDirectory(root, at, { force: true });
    await put('/b/f', '');
    const paths = async (depth: number) => (await listEntries(root, '/', depth)).map((entry) => entry.path);
    expect(await paths(0)).toEqual(['/a', '/b']);
    expect(await paths(2)).toEqual(['/a', '/b', '/b/c', '/b/f']);
    expect(await paths(10)).toEqual(['/a', '/b', '/b/c', '/b/c/d', '/b/f']);
    expect(await codeOf(Promise.resolve().then(() => listEntries(root, '/', 11)))).toBe('depth_out_of_range');
    expect(await codeOf(listEntries(root, '/b/f', 1))).toBe('not_a_directory');
  });

  it('exist once, unless force says that is fine', async () => {
    await createDirectory(root, '/d', {});
    expect(await codeOf(createDirectory(root, '/d', {}))).toBe('path_already_exists');
    expect((await createDirectory(root, '/d', { force: true })).type).toBe('directory');
    await put('/f', '');
    expect(await codeOf(createDirectory(root, '/f', { force: true }))).toBe('not_a_directory');
  });

  it('go with everything in them, the root excepted', async () => {
    await put('/d/e/f', 'x', true);
    await deleteEntry(root, '/d');
    expect(await readdir(root)).toEqual([]);
    expect(await codeOf(deleteEntry(root, '/'))).toBe('cannot_delete_root');
    expect(await codeOf(deleteEntry(root, 'a/..'))).toBe('path_not_found');
    expect(await codeOf(deleteEntry(root, '/nothing'))).toBe('path_not_found');
  });
});

describe('what leads out of a volume', () => {
  it('ends at its root: dots', async () => {
    await put('../../escaped', 'x');
    expect(await readdir(path.join(root, '..'))).toEqual(['outside', 'volume']);
    expect(await get('/escaped')).toBe('x');
  });

  it('ends at its root: links, absolute and relative', async () => {
    await symlink(outside, path.join(root, 'absolute'));
    await symlink('../outside', path.join(root, 'relative'));
    await symlink('../../../../../../etc', path.join(root, 'far'));
    for (const name of ['absolute', 'relative', 'far']) {
      expect(await codeOf(get(`/${name}/secret`))).toBe('path_not_found');
      expect(await codeOf(get(`/${name}/passwd`))).toBe('path_not_found');
      expect(await codeOf(listEntries(root, `/${name}`, 1))).toBe('path_not_found');
    }
  });

  it('is not opened through a link that took the place of a directory after it was looked at', async () => {
    await symlink(outside, path.join(root, 'link'));
    const directory = await open(root, 'r');
    try {
      await expect(openDirectory(directory, 'link')).rejects.toMatchObject({ code: 'ENOTDIR' });
    } finally {
      await directory.close();
    }
  });

  it('is not removed through a link, the link is', async () => {
    await symlink(outside, path.join(root, 'link'));
    await createDirectory(root, '/d', {});
    await symlink(outside, path.join(root, 'd/link'));
    await deleteEntry(root, '/link');
    await deleteEntry(root, '/d');
    expect(await readFile(path.join(outside, 'secret'), 'utf8')).toBe('not yours');
    expect(await readdir(root)).toEqual([]);
  });

  it('is not written through a link at the end of a path', async () => {
    await symlink(path.join(outside, 'secret'), path.join(root, 'link'));
    expect(await codeOf(put('/link', 'overwritten'))).toBe('path_not_found');
    // With force, the place that the link names is made inside the volume, whose root is the link's `/`.
    await put('/link', 'contained', true);
    expect(await readFile(path.join(outside, 'secret'), 'utf8')).toBe('not yours');
    expect(await readFile(path.join(root, outside, 'secret'), 'utf8')).toBe('contained');
  });

  it('keeps its mode when a link to it is changed', async () => {
    const before = (await lstat(path.join(outside, 'secret'))).mode;
    await symlink(path.join(outside, 'secret'), path.join(root, 'link'));
    expect(await codeOf(changeEntry(root, '/link', { mode: 0o777 }))).toBe('path_not_found');
    expect((await lstat(path.join(outside, 'secret'))).mode).toBe(before);
  });
});

describe('links inside a volume', () => {
  it('are followed on the way, and described themselves at the end', async () => {
    await put('/real/file', 'x', true);
    await symlink('/real', path.join(root, 'link'));
    expect(await get('/link/file')).toBe('x');
    expect(await readEntry(root, '/link')).toMatchObject({ type: 'symlink', target: '/real' });
    expect(await readlink(path.join(root, 'link'))).toBe('/real');
  });

  it('that go round in a circle are an error, not a hang', async () => {
    await symlink('b', path.join(root, 'a'));
    await symlink('a', path.join(root, 'b'));
    expect(await codeOf(get('/a'))).toBe('invalid_request');
  });
});

describe('facts of an entry', () => {
  it('change one by one', async () => {
    await put('/f', 'x');
    expect(await changeEntry(root, '/f', { mode: 0o600 })).toMatchObject({ mode: 0o600 });
    expect(await codeOf(changeEntry(root, '/nothing', { mode: 0o600 }))).toBe('path_not_found');
  });

  it.runIf(process.getuid?.() === 0)('include the owner, for root', async () => {
    await put('/f', 'x');
    expect(await changeEntry(root, '/f', { uid: 1000, gid: 1001 })).toMatchObject({
      uid: 1000,
      gid: 1001,
      mode: 0o644,
    });
    const made = await createDirectory(root, '/p/q', { force: true, uid: 7, gid: 8, mode: 0o700 });
    expect(made).toMatchObject({ uid: 7, gid: 8, mode: 0o700 });
    expect(await readEntry(root, '/p')).toMatchObject({ uid: 7, gid: 8, mode: 0o755 });
  });
});
