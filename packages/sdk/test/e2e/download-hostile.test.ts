import { lstat, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeOnServer } from '@svc/support/testing/on-server';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Sandbox } from '../../src/index.js';

describeOnServer('a directory of a hostile sandbox', (fixture) => {
  let sandbox: Sandbox;
  let scratch: string;
  beforeAll(async () => {
    sandbox = await fixture.client().sandboxes.create({ timeoutMs: 600_000 });
  });
  afterAll(() => sandbox?.kill());
  beforeEach(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'svc-download-hostile-'));
    await writeFile(join(scratch, 'victim'), 'kept');
  });
  afterEach(() => rm(scratch, { recursive: true, force: true }));

  it('brings no set-id programs, no links that lead out, no devices and no version control', async () => {
    await sandbox.commands.run(
      'rm -rf tree; mkdir -p tree/out tree/sub tree/.git/hooks && cd tree && ln -s ../victim up && ln -s /etc/passwd abs && ln -s sub/../../victim around && ln -s sub fine && printf evil > out/new && mkfifo pipe && printf s > setuid && chmod 7777 setuid && printf h > .git/hooks/pre-commit && ln setuid twin',
    );
    const local = join(scratch, 'local');
    const { skipped } = await sandbox.files.downloadDir('tree', local);
    expect(skipped.map(({ path }) => path).sort()).toEqual(['.git', 'abs', 'around', 'pipe', 'up']);
    expect((await readdir(local)).sort()).toEqual(['fine', 'out', 'setuid', 'sub', 'twin']);
    for (const name of ['setuid', 'twin'])
      expect((await lstat(join(local, name))).mode & 0o7777).toBe(0o755 & ~process.umask());
    expect(await readFile(join(scratch, 'victim'), 'utf8')).toBe('kept');
    expect((await readdir(scratch)).sort()).toEqual(['local', 'victim']);
    await sandbox.files.downloadDir('tree', local, { vcs: true });
    expect(await readdir(join(local, '.git', 'hooks'))).toEqual(['pre-commit']);
  });

  it('keeps no more than a thousand words of what it leaves out', async () => {
    await sandbox.commands.run('mkdir -p many && cd many && for i in $(seq 1100); do ln -s /x $i; done');
    const { skipped, entries } = await sandbox.files.downloadDir('many', join(scratch, 'local'));
    expect(skipped).toHaveLength(1_000);
    expect(entries).toBe(0);
  });

  it('is described under the name of what a path with .. leads to', async () => {
    await sandbox.files.makeDir('named/below');
    const { path } = await sandbox.files.stat('named');
    expect(await sandbox.files.stat(`${path}/below/..`)).toMatchObject({ name: 'named' });
    expect(await sandbox.files.stat('/')).toMatchObject({ name: '/', path: '/' });
  });
});
