import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sandbox } from '@svc/sdk';
import { describeOnServer } from '@svc/support/testing/on-server';
import { pack } from 'tar-stream';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { type SyncEvent, type SyncOptions, syncDirectory } from '../../src/index.js';

const sha = (letter: string) => letter.repeat(64);

/** A sandbox whose programs say anything: these take the places of find, sha256sum and tar in its PATH. */
const programs = {
  find: 'if [ "$1" = --version ]; then echo GNU; else cat "$HOME/lies/list"; fi',
  sha256sum: '[ "$1" = -z ] && [ $# -eq 1 ] || cat "$HOME/lies/sums"',
  tar: 'if [ "$1" = -c ]; then cat >/dev/null; cat "$HOME/lies/archive"; else exec /usr/bin/tar "$@"; fi',
};

describeOnServer('a hostile sandbox', (fixture) => {
  let sandbox: Sandbox;
  let scratch: string;
  let local: string;
  beforeAll(async () => {
    sandbox = await fixture.client().sandboxes.create({ timeoutMs: 600_000 });
    await sandbox.files.writeMany(
      Object.entries(programs).map(([name, text]) => ({
        path: `evil/${name}`,
        data: `#!/bin/sh\n${text}\n`,
      })),
    );
    await sandbox.commands.run('chmod +x evil/*; mkdir -p lies tree');
  });
  afterAll(() => sandbox?.kill());
  beforeEach(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'svc-sync-hostile-'));
    local = join(scratch, 'local');
    await mkdir(local);
    await writeFile(join(scratch, 'victim'), 'kept');
    await writeFile(join(local, 'mine'), 'mine');
  });
  afterEach(() => rm(scratch, { recursive: true, force: true }));

  const files = (...paths: string[]) =>
    paths.map((path) => ['f 644 4 1:4:1.5:1.5', path, ''].join('\0')).join('\0');
  const lie = async (lies: { list?: string; sums?: string; archive?: Uint8Array }) => {
    const { list = '', sums = '', archive = new Uint8Array() } = lies;
    await sandbox.files.writeMany([
      { path: 'lies/list', data: list },
      { path: 'lies/sums', data: sums },
      { path: 'lies/archive', data: archive },
    ]);
    // A login shell takes its PATH from here.
    await sandbox.files.write('.profile', 'PATH="$HOME/evil:$PATH"; echo noise\n');
    await sandbox.files.write('.bash_profile', '. "$HOME/.profile"\n');
  };
  const truth = () => sandbox.commands.run('rm -f .profile .bash_profile');
  const sync = async (options: Partial<SyncOptions> = {}) => {
    const events: SyncEvent[] = [];
    const onEvent = (event: SyncEvent) => events.push(event);
    await syncDirectory(sandbox, { local, remote: 'tree', watch: false, onEvent, ...options });
    return events;
  };
  /** Nothing but the two files that were there: neither beside the directory nor in it. */
  const expectUntouched = async (inside = ['mine']) => {
    expect((await readdir(scratch)).sort()).toEqual(['local', 'victim']);
    expect(await readFile(join(scratch, 'victim'), 'utf8')).toBe('kept');
    expect((await readdir(local)).sort()).toEqual(inside);
    expect(await readFile(join(local, 'mine'), 'utf8')).toBe('mine');
  };
  const archiveOf = async (entries: Parameters<ReturnType<typeof pack>['entry']>[]) => {
    const archive = pack();
    for (const entry of entries) archive.entry(...entry);
    archive.finalize();
    const chunks: Uint8Array[] = [];
    for await (const chunk of archive as AsyncIterable<Uint8Array>) chunks.push(chunk);
    return Buffer.concat(chunks);
  };

  it('cannot name anything outside the directory', async () => {
    const names = ['../victim', '../new', '/tmp/svc-sync-new', 'a/../../new', '.', '..', 'x//y', 'x/./y'];
    await lie({ list: `${files(...names)}\0end\0` });
    const events = await sync({ mode: 'pull' });
    expect(events.filter(({ type }) => type === 'skipped')).toHaveLength(names.length);
    await expectUntouched();
  });

  it('cannot send files that were not asked for, of another kind, or of another content', async () => {
    const list = `${files('wanted')}\0end\0`;
    const sums = `${sha('a')}  ./wanted\0`;
    const header = { type: 'file', mode: 0o644 } as const;
    const forged = [
      [[{ ...header, name: './../victim' }, 'evil']],
      [[{ ...header, name: '/tmp/svc-sync-new' }, 'evil']],
      [[{ ...header, name: './other' }, 'evil']],
      [[{ name: './wanted', type: 'symlink', linkname: '../victim' }]],
      [[{ name: './wanted', type: 'link', linkname: './mine' }]],
      [[{ name: './wanted', type: 'character-device' }]],
      [[{ ...header, name: './wanted' }, 'evil']],
      [[{ ...header, name: './wanted' }, 'much longer than it was said to be']],
    ] as Parameters<typeof archiveOf>[0][];
    for (const entries of forged) {
      await lie({ list, sums, archive: await archiveOf(entries) });
      await sync().catch((error: unknown) =>
        expect(String(error)).toMatch(/^(ServerError|SyncStoppedError): sync: |archive|tar/i),
      );
      await expectUntouched();
    }
    await lie({ list, sums, archive: Buffer.from('no archive at all'.repeat(100)) });
    await sync().catch(() => {});
    await expectUntouched();
  });

  it('cannot contradict itself, talk nonsense, or continue without end', async () => {
    const lists = [
      'nonsense\0',
      'f 644 4\0x\0\0end\0',
      `${files('a', 'a')}\0end\0`,
      `f 644 ${'9'.repeat(40)} 1:4:1.5:1.5\0a\0\0end\0`,
      'x'.repeat(100_000),
    ];
    for (const list of lists) {
      await lie({ list });
      await expect(sync(), list.slice(0, 40)).rejects.toMatchObject({ code: 'server' });
    }
    for (const sums of ['x\0', `${sha('a')}  ./b\0`, `${sha('a')}  ./../victim\0`, `${sha('g')}  ./a\0`]) {
      await lie({ list: `${files('a')}\0end\0`, sums });
      await expect(sync(), sums).rejects.toMatchObject({ code: 'server' });
    }
    // A file that was written there is never seen there: it is not tried for ever.
    await lie({ list: '' });
    await expect(sync()).rejects.toMatchObject({ reason: 'unsettled' });
    // An entry in a file, or in nothing, cannot be.
    await lie({ list: `${files('ghost/a', 'file', 'file/b')}\0end\0`, sums: '' });
    await sync({ mode: 'pull' }).catch((error: unknown) =>
      expect(error).toMatchObject({ reason: 'unsettled' }),
    );
    await expectUntouched();
    const many = Array.from({ length: 200 }, (_, index) => `n${index}`);
    await lie({ list: `${files(...many)}\0end\0` });
    await expect(sync({ maxEntries: 100 })).rejects.toMatchObject({ reason: 'too_much' });
    await lie({ list: `${files('a', 'b')}\0end\0` });
    await expect(sync({ maxTotalBytes: 7 })).rejects.toMatchObject({ reason: 'too_much' });
    await sandbox.files.write(
      'evil/find',
      `#!/bin/sh\n[ "$1" = --version ] && echo GNU || yes "$(printf 'x/')" | tr '\\n' '\\0'\n`,
    );
    await expect(sync()).rejects.toMatchObject({ code: 'server' });
    await sandbox.files.write('evil/find', `#!/bin/sh\n${programs.find}\n`);
    await expectUntouched();
  });

  it('cannot plant links that lead out, nor files behind links that are there', async () => {
    await truth();
    await sandbox.commands.run(
      'rm -rf tree; mkdir -p tree/out tree/sub && cd tree && ln -s ../victim up && ln -s /etc/passwd abs && ln -s sub/../../victim around && ln -s sub fine && printf evil > out/new && mkfifo pipe && printf x > huge && truncate -s 2M huge && printf s > setuid && chmod 4755 setuid',
    );
    // Here the name is a link out of the directory already.
    await mkdir(join(scratch, 'elsewhere'));
    await symlink(join(scratch, 'elsewhere'), join(local, 'out'));
    const events = await sync({ maxFileSizeBytes: 1024 * 1024 });
    const skipped = events.flatMap((event) =>
      event.type === 'skipped' ? [`${event.side} ${event.path}`] : [],
    );
    expect(skipped.sort()).toEqual(
      ['local out', 'remote abs', 'remote around', 'remote huge', 'remote pipe', 'remote up'].sort(),
    );
    expect(await readdir(join(scratch, 'elsewhere'))).toEqual([]);
    expect((await readdir(local)).sort()).toEqual(['fine', 'mine', 'out', 'setuid', 'sub']);
    expect((await lstat(join(local, 'setuid'))).mode & 0o7777).toBe(0o755);
    expect((await lstat(join(local, 'out'))).isSymbolicLink()).toBe(true);
    await rm(join(scratch, 'elsewhere'), { recursive: true });
  });
});
