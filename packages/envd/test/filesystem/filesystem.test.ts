import { lstat, mkdir, readFile, readlink, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Code } from '@connectrpc/connect';
import { FileType } from '@svc/daemon/gen';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { as, expectCode, startTestDaemon, type TestDaemon } from './test-daemon.js';

let daemon: TestDaemon;
beforeEach(async () => {
  daemon = await startTestDaemon();
});
afterEach(() => daemon[Symbol.asyncDispose]());

const inHome = (...names: string[]) => join(daemon.home, ...names);

describe('Stat', () => {
  test('describes a file', async () => {
    await writeFile(inHome('a.txt'), 'hello', { mode: 0o640 });
    await utimes(inHome('a.txt'), 1_700_000_000.5, 1_700_000_000.5);
    const { entry } = await daemon.client.stat({ path: 'a.txt' });
    expect(entry).toMatchObject({
      name: 'a.txt',
      type: FileType.FILE,
      path: inHome('a.txt'),
      size: 5n,
      mode: 0o640,
      permissions: '-rw-r-----',
      modifiedTime: { seconds: 1_700_000_000n, nanos: 500_000_000 },
    });
    expect(entry!.symlinkTarget).toBeUndefined();
    expect(entry!.owner).not.toBe('');
  });

  test('describes a link by its target, with its own size and permissions', async () => {
    await mkdir(inHome('dir'), { mode: 0o750 });
    await symlink('dir', inHome('link'));
    const { entry } = await daemon.client.stat({ path: '~/link' });
    expect(entry).toMatchObject({
      type: FileType.DIRECTORY,
      mode: 0o750,
      permissions: 'Lrwxrwxrwx',
      size: 3n,
      symlinkTarget: inHome('dir'),
    });
  });

  test('a link that leads nowhere, or round in a circle, has no type and points at itself', async () => {
    await symlink('missing', inHome('broken'));
    await symlink('loop', inHome('loop'));
    for (const name of ['broken', 'loop']) {
      const { entry } = await daemon.client.stat({ path: name });
      expect(entry).toMatchObject({ type: FileType.UNSPECIFIED, symlinkTarget: inHome(name) });
    }
  });

  test('refuses what is missing, bad paths and unknown users', async () => {
    await writeFile(inHome('file'), '');
    expect(await expectCode(daemon.client.stat({ path: 'nope' }), Code.NotFound)).toContain('nope');
    await expectCode(daemon.client.stat({ path: 'file/below' }), Code.NotFound);
    await expectCode(daemon.client.stat({ path: '~bob/x' }), Code.InvalidArgument);
    await expectCode(daemon.client.stat({ path: 'a\0b' }), Code.InvalidArgument);
    const message = await expectCode(
      daemon.client.stat({ path: '' }, { headers: as('ghost') }),
      Code.Unauthenticated,
    );
    expect(message).toContain('ghost');
  });
});

describe('MakeDir', () => {
  test('makes parents with mode 0755', async () => {
    const { entry } = await daemon.client.makeDir({ path: 'a/b c/d' });
    expect(entry).toMatchObject({ name: 'd', path: inHome('a/b c/d'), permissions: 'drwxr-xr-x' });
    expect((await stat(inHome('a'))).mode & 0o777).toBe(0o755);
  });

  test('refuses what exists', async () => {
    await writeFile(inHome('file'), '');
    await mkdir(inHome('dir'));
    await symlink('nowhere', inHome('broken'));
    await expectCode(daemon.client.makeDir({ path: 'dir' }), Code.AlreadyExists);
    await expectCode(daemon.client.makeDir({ path: '/' }), Code.AlreadyExists);
    await expectCode(daemon.client.makeDir({ path: 'file' }), Code.InvalidArgument);
    await expectCode(daemon.client.makeDir({ path: 'file/below' }), Code.InvalidArgument);
    await expectCode(daemon.client.makeDir({ path: 'broken' }), Code.InvalidArgument);
    await expectCode(daemon.client.makeDir({ path: 'x'.repeat(256) }), Code.Internal);
  });
});

describe('Move', () => {
  test('replaces a file, makes parents and moves directories', async () => {
    await writeFile(inHome('a'), 'new');
    await writeFile(inHome('b'), 'old');
    expect((await daemon.client.move({ source: 'a', destination: 'b' })).entry?.path).toBe(inHome('b'));
    expect(await readFile(inHome('b'), 'utf8')).toBe('new');
    await daemon.client.move({ source: 'b', destination: 'x/y/b' });
    await daemon.client.move({ source: 'x', destination: 'z' });
    expect(await readFile(inHome('z/y/b'), 'utf8')).toBe('new');
  });

  test('moves a link itself, even a broken one', async () => {
    await symlink('nowhere', inHome('l'));
    await daemon.client.move({ source: 'l', destination: 'm' });
    expect(await readlink(inHome('m'))).toBe('nowhere');
  });

  test('refuses a missing source and a destination that cannot be replaced', async () => {
    await mkdir(inHome('full/sub'), { recursive: true });
    await mkdir(inHome('dir'));
    await writeFile(inHome('file'), '');
    await expectCode(daemon.client.move({ source: 'nope', destination: 'x' }), Code.NotFound);
    await expectCode(daemon.client.move({ source: 'file/x', destination: 'x' }), Code.NotFound);
    await expectCode(daemon.client.move({ source: 'dir', destination: 'full' }), Code.Internal);
    await expectCode(daemon.client.move({ source: 'dir', destination: 'file' }), Code.Internal);
    await expectCode(daemon.client.move({ source: 'full', destination: 'full/sub/in' }), Code.Internal);
  });
});

describe('ListDir', () => {
  const names = async (path: string, depth = 0) =>
    (await daemon.client.listDir({ path, depth })).entries.map((entry) =>
      entry.path.slice(daemon.home.length + 1),
    );

  test('lists depth first in lexical order, to the depth asked for', async () => {
    await mkdir(inHome('b/inner/deep'), { recursive: true });
    await writeFile(inHome('b.txt'), '');
    await writeFile(inHome('a'), '');
    await writeFile(inHome('b/z'), '');
    await writeFile(inHome('Z'), '');
    expect(await names('')).toEqual(['Z', 'a', 'b', 'b.txt']);
    expect(await names('', 1)).toEqual(['Z', 'a', 'b', 'b.txt']);
    expect(await names('', 2)).toEqual(['Z', 'a', 'b', 'b/inner', 'b/z', 'b.txt']);
    expect(await names('', 4_294_967_295)).toEqual([
      'Z',
      'a',
      'b',
      'b/inner',
      'b/inner/deep',
      'b/z',
      'b.txt',
    ]);
  });

  test('follows a link at the root, keeps the prefix, and follows none inside', async () => {
    await mkdir(inHome('real/sub'), { recursive: true });
    await symlink('.', inHome('real/self'));
    await symlink('real', inHome('link'));
    expect(await names('link', 5)).toEqual(['link/self', 'link/sub']);
  });

  test('gives back names of any form', async () => {
    const weird = [
      '-rf',
      ' lead',
      'new\nline',
      'tab\t"q"',
      'ünï',
      '日本',
      '😀',
      '｡',
      'x'.repeat(255),
      '~',
      '*',
    ];
    for (const name of weird) await writeFile(inHome(name), '');
    const found = (await daemon.client.listDir({ path: '' })).entries.map((entry) => entry.name);
    const bytewise = weird.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect(found).toEqual(bytewise);
    for (const name of weird) await daemon.client.remove({ path: `/${daemon.home}/${name}` });
    expect(await names('')).toEqual([]);
  });

  test('lists a directory of many entries', async () => {
    await mkdir(inHome('many'));
    for (let i = 0; i < 3000; i++) await writeFile(inHome('many', `f${i}`), '');
    expect(await names('many')).toHaveLength(3000);
  });

  test('survives entries that vanish during the walk', async () => {
    for (let i = 0; i < 500; i++) await mkdir(inHome(`v${i}`, 'sub'), { recursive: true });
    const listing = daemon.client.listDir({ path: '', depth: 3 });
    const removing = Promise.all(
      Array.from({ length: 500 }, (_, i) => daemon.client.remove({ path: `v${i}` })),
    );
    expect((await listing).entries.length).toBeLessThanOrEqual(1000);
    await removing;
  });

  test('refuses what is no directory', async () => {
    await writeFile(inHome('file'), '');
    await symlink('loop', inHome('loop'));
    await symlink('missing', inHome('broken'));
    await expectCode(daemon.client.listDir({ path: 'nope' }), Code.NotFound);
    await expectCode(daemon.client.listDir({ path: 'broken' }), Code.NotFound);
    await expectCode(daemon.client.listDir({ path: 'file' }), Code.InvalidArgument);
    await expectCode(daemon.client.listDir({ path: 'loop' }), Code.FailedPrecondition);
  });
});

describe('Remove', () => {
  test('removes trees, and a link without its target', async () => {
    await mkdir(inHome('tree/a/b'), { recursive: true });
    await mkdir(inHome('kept'));
    await writeFile(inHome('kept/file'), '');
    await symlink('../kept', inHome('tree/link'));
    await symlink('kept', inHome('link'));
    await daemon.client.remove({ path: 'tree' });
    await daemon.client.remove({ path: `${daemon.home}/link/` });
    await expect(lstat(inHome('tree'))).rejects.toThrow('ENOENT');
    await expect(lstat(inHome('link'))).rejects.toThrow('ENOENT');
    expect((await stat(inHome('kept/file'))).isFile()).toBe(true);
  });

  test('succeeds where nothing is', async () => {
    await writeFile(inHome('file'), '');
    expect(await daemon.client.remove({ path: 'nope' })).toBeDefined();
    expect(await daemon.client.remove({ path: 'nope/below' })).toBeDefined();
    expect(await daemon.client.remove({ path: 'file/below' })).toBeDefined();
    expect((await stat(inHome('file'))).isFile()).toBe(true);
  });

  test('removes names that are no UTF-8', async () => {
    await mkdir(inHome('dir'));
    await writeFile(Buffer.concat([Buffer.from(inHome('dir/')), Buffer.from([0xff, 0xfe])]), '');
    await daemon.client.remove({ path: 'dir' });
    await expect(lstat(inHome('dir'))).rejects.toThrow('ENOENT');
  });
});

describe.skipIf(process.getuid?.() !== 0)('ownership (root only)', () => {
  test('what is made belongs to the user of the call, and owners have names', async () => {
    await using real = await startTestDaemon({ accounts: true });
    const headers = as('nobody');
    const { entry } = await real.client.makeDir({ path: join(real.home, 'p/q') }, { headers });
    expect(entry).toMatchObject({ owner: 'nobody', group: 'nogroup' });
    expect(await stat(join(real.home, 'p'))).toMatchObject({ uid: 65534, gid: 65534 });
    await writeFile(join(real.home, 'src'), '');
    await real.client.move(
      { source: join(real.home, 'src'), destination: join(real.home, 'made/for/it') },
      { headers },
    );
    expect((await stat(join(real.home, 'made'))).uid).toBe(65534);
    const made = await real.client.makeDir({ path: join(real.home, 'by-root') }, { headers: as('root') });
    expect(made.entry?.owner).toBe('root');
  });

  test('what the user may not do is refused', async () => {
    await using real = await startTestDaemon({ accounts: true });
    const closed = join(real.home, 'closed');
    await mkdir(closed, { mode: 0o700 });
    await writeFile(join(closed, 'file'), '');
    const headers = as('nobody');
    const { client } = real;
    const file = join(closed, 'file');
    const refused = [
      () => client.stat({ path: file }, { headers }),
      () => client.makeDir({ path: join(closed, 'dir') }, { headers }),
      () => client.move({ source: file, destination: join(real.home, 'taken') }, { headers }),
      () => client.listDir({ path: closed }, { headers }),
      () => client.remove({ path: closed }, { headers }),
      () => client.createWatcher({ path: closed }, { headers }),
    ];
    for (const call of refused)
      expect(await expectCode(call(), Code.Internal)).toContain('permission denied');
    expect((await real.client.listDir({ path: closed }, { headers: as('root') })).entries).toHaveLength(1);
  });
});
