import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.js';
import { build, createTemplate, ended, runIn, sha256, start, tarOf, upload } from '../support/templates.js';
import { tinyRootfs, writeOciLayout } from './oci-fixture.js';

const able = linuxDriverCanRun(await checkHost({ dataDir: tmpdir() }));
if (!able) console.warn('Builds on the linux driver: skipped, this host cannot run it');

describe.skipIf(!able)('builds on the linux driver', () => {
  let test: TestServer;
  beforeAll(async () => {
    test = await startTestServer({
      driver: 'linux',
      poolSize: 0,
      tuning: { builds: { readyIntervalMs: 200, startWaitMs: 200 } },
    });
  });
  afterAll(() => test?.[Symbol.asyncDispose]());

  const images = () => path.join(test.dataDir, 'images');

  it('runs RUN, USER, WORKDIR, ENV as the users they name and keeps every change of the root', async () => {
    await build(test, 'users', {
      steps: [
        { type: 'RUN', args: ['echo system > /etc/marker; rm /etc/services', 'root'] },
        { type: 'RUN', args: ['id -un > mine'] },
        { type: 'USER', args: ['deploy', 'true'] },
        { type: 'WORKDIR', args: ['/srv/app'] },
        { type: 'WORKDIR', args: ['sub'] },
        { type: 'RUN', args: ['id -un > who; pwd > where'] },
        { type: 'ENV', args: ['PATH', '/srv/bin:$PATH'] },
        {
          type: 'RUN',
          args: ['mkdir /srv/bin; echo "echo own tool" > /srv/bin/tool; chmod 755 /srv/bin/tool', 'root'],
        },
        { type: 'RUN', args: ['tool > tool-said'] },
      ],
    });
    const said = await runIn(
      test,
      'users',
      'id -un; pwd; cat /etc/marker who where tool-said /home/user/mine; stat -c %U /srv/app /srv/app/sub; ls /etc/services; tool; bash -lc tool',
    );
    expect(said.split('\n')).toEqual([
      'deploy',
      '/srv/app/sub',
      'system',
      'deploy',
      '/srv/app/sub',
      'own tool',
      'user',
      'deploy',
      'deploy',
      expect.stringContaining('No such file'),
      'own tool',
      'own tool',
    ]);
  });

  it('copies files with owners and permissions and leaves existing directories as they were', async () => {
    const created = await createTemplate(test, { name: 'copy' });
    const filesHash = await upload(test, created.templateID, [
      { name: 'root/usr/local/bin/tool', content: '#!/bin/sh\necho tool', mode: 0o755 },
      { name: 'root/etc/app.conf', content: 'conf' },
      { name: 'file', content: 'file' },
    ]);
    await start(test, created, {
      fromTemplate: 'base',
      steps: [
        { type: 'COPY', args: ['root/', '/', 'root'], filesHash },
        { type: 'COPY', args: ['file', '/opt/new/file'], filesHash },
        { type: 'COPY', args: ['file', '~/', 'www-data:user', '640'], filesHash },
        { type: 'RUN', args: ['tool > said'] },
      ],
    });
    expect(await ended(test, created)).toMatchObject({ status: 'ready' });
    expect(
      await runIn(
        test,
        'copy',
        'cat said; stat -c "%U:%G %a %n" / /etc /usr/local /home/user /etc/app.conf /opt/new /opt/new/file /home/user/file; ls -d /.build* || true',
      ),
    ).toBe(
      [
        'tool',
        'root:root 755 /',
        'root:root 755 /etc',
        'root:root 755 /usr/local',
        'user:user 755 /home/user',
        'root:root 644 /etc/app.conf',
        'user:user 755 /opt/new',
        'user:user 644 /opt/new/file',
        'www-data:user 640 /home/user/file',
        "ls: cannot access '/.build*': No such file or directory",
      ].join('\n'),
    );
  });

  it('takes layers from the cache', async () => {
    const steps = [{ type: 'RUN', args: ['cat /proc/sys/kernel/random/uuid > /opt/id', 'root'] }];
    await build(test, 'cache', { steps });
    const first = await runIn(test, 'cache', 'cat /opt/id');
    const again = await build(test, 'cache', { steps });
    expect(again.log).toContain('taken from the cache');
    expect(await runIn(test, 'cache', 'cat /opt/id')).toBe(first);
  });

  it('fails at a failing step and leaves no instance behind', async () => {
    const before = (await test.server.driver.list()).length;
    const created = await createTemplate(test, { name: 'fails' });
    await start(test, created, { fromTemplate: 'base', steps: [{ type: 'RUN', args: ['ls /nowhere'] }] });
    expect(await ended(test, created)).toMatchObject({ status: 'error', reason: { step: '1' } });
    expect((await test.server.driver.list()).length).toBe(before);
  });

  it('gives sandboxes a start command that runs already', async () => {
    const made = await build(test, 'served', {
      steps: [{ type: 'WORKDIR', args: ['/srv/www'] }],
      startCmd: 'echo hello > index.html; python3 -m http.server 8000 --bind 127.0.0.1',
      readyCmd: 'python3 -c "import urllib.request as r; r.urlopen(\'http://127.0.0.1:8000/index.html\')"',
    });
    expect(made.log).toContain('ready');
    const fetchIt =
      'import urllib.request as r; print(r.urlopen("http://127.0.0.1:8000/index.html").read().decode().strip())';
    const script = `for i in $(seq 100); do python3 -c '${fetchIt}' 2>/dev/null && break; sleep 0.1; done`;
    expect(await runIn(test, 'served', script)).toBe('hello');
    if (test.server.driver.capabilities.memorySnapshot) {
      expect(made.log).toContainEqual(expect.stringContaining('sandboxes resume from here'));
      expect((await test.api('GET', '/snapshots')).body).toEqual([]);
    }
  });

  it('starts from an OCI layout: layers, whiteouts, links, environment', async () => {
    const rootfs = await tinyRootfs();
    await writeOciLayout(
      path.join(images(), 'tiny'),
      [
        [
          ...rootfs,
          { name: 'etc/passwd', content: 'root:x:0:0:root:/root:/bin/sh\nweb:x:1000:1000::/srv:/bin/sh\n' },
          { name: 'etc/group', content: 'root:x:0:\nweb:x:1000:\n' },
          { name: 'data/old', content: 'old' },
          { name: 'data/kept', content: 'kept' },
          { name: 'emptied/one', content: '1' },
          { name: 'shared', content: 'first' },
          { name: 'twin', type: 'link', linkname: 'shared' },
          { name: 'link', type: 'symlink', linkname: '/data' },
          { name: 'current', type: 'symlink', linkname: 'etc' },
        ],
        [
          { name: 'data/.wh.old' },
          { name: 'emptied/.wh..wh..opq' },
          { name: 'emptied/two', content: '2' },
          { name: 'shared', content: 'second' },
          { name: 'link/through', content: 'through' },
          // `rm current && mkdir current`
          { name: 'current', type: 'directory' },
          { name: 'current/.wh..wh..opq' },
          { name: 'current/new', content: 'new' },
        ],
      ],
      { env: ['FLAVOUR=tiny', 'PATH=/bin'] },
    );
    const steps = [
      { type: 'ARG', args: ['FLAVOUR', 'not that of the image'] },
      { type: 'ENV', args: ['FULL', '/opt/$FLAVOUR:$PATH'] },
      { type: 'RUN', args: ['echo built > ~/built; id -un >> ~/built; echo $FLAVOUR $FULL >> ~/built'] },
    ];
    await build(test, 'tiny', { fromTemplate: '', fromImage: `oci:${images()}/tiny`, steps });
    expect(
      await runIn(
        test,
        'tiny',
        'id -un; id -u; ls /data /emptied /current; cat /shared /twin /data/through; echo; cat ~/built; echo $FLAVOUR',
      ),
    ).toBe(
      'user\n1001\n/current:\nnew\n\n/data:\nkept\nthrough\n\n/emptied:\ntwo\nsecondfirstthrough\nbuilt\nuser\ntiny /opt/tiny:/bin\ntiny',
    );
    const again = await build(test, 'tiny', {
      fromTemplate: '',
      fromImage: `oci:${images()}/tiny:latest`,
      steps,
    });
    expect(again.log.filter((line) => line === 'taken from the cache')).toHaveLength(2);
  });

  it('starts from an archive of a layout, and from one of docker save', async () => {
    await writeOciLayout(path.join(images(), 'small'), [[{ name: 'opt/image', content: 'oci' }]]);
    const { readFile, readdir } = await import('node:fs/promises');
    const blobs = path.join(images(), 'small', 'blobs', 'sha256');
    await writeFile(
      path.join(images(), 'small.tar'),
      await tarOf([
        { name: 'oci-layout', content: '{"imageLayoutVersion":"1.0.0"}' },
        { name: 'index.json', content: await readFile(path.join(images(), 'small', 'index.json')) },
        ...(await Promise.all(
          (
            await readdir(blobs)
          ).map(async (name) => ({
            name: `blobs/sha256/${name}`,
            content: await readFile(path.join(blobs, name)),
          })),
        )),
      ]),
    );
    await build(test, 'archive', { fromTemplate: '', fromImage: `oci-archive:${images()}/small.tar` });
    expect(await runIn(test, 'archive', 'cat /opt/image')).toBe('oci');
    const layer = await tarOf([{ name: 'opt/image', content: 'docker' }]);
    const rootfs = { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] };
    await writeFile(
      path.join(images(), 'saved.tar'),
      await tarOf([
        { name: 'c.json', content: JSON.stringify({ config: { Env: ['SAVED=yes'] }, rootfs }) },
        { name: 'l1/layer.tar', content: layer },
        {
          name: 'manifest.json',
          content: '[{"Config":"c.json","RepoTags":["app:1"],"Layers":["l1/layer.tar"]}]',
        },
      ]),
    );
    await build(test, 'saved', { fromTemplate: '', fromImage: `docker-archive:${images()}/saved.tar:app:1` });
    expect(await runIn(test, 'saved', 'cat /opt/image; echo " $SAVED"')).toBe('docker yes');
  });

  it.each([
    ['an image outside of the allowed directories', 'oci:/etc', /operator allows/],
    ['a reference that is none', '--help', /not an image reference/],
  ])('refuses %s', async (_what, fromImage, message) => {
    const created = await createTemplate(test, { name: 'refused' });
    await start(test, created, { fromImage });
    expect(await ended(test, created)).toMatchObject({
      status: 'error',
      reason: { step: 'base', message: expect.stringMatching(message) },
    });
  });

  it('says what to do when an image cannot be pulled, and never shows credentials', async () => {
    const created = await createTemplate(test, { name: 'pulled' });
    await start(test, created, {
      fromImage: '127.0.0.1:9/none:latest',
      fromImageRegistry: { type: 'registry', username: 'me', password: 'hunter2-secret' },
    });
    const end = await ended(test, created);
    expect(end).toMatchObject({ status: 'error', reason: { message: expect.stringContaining('oci:/path') } });
    expect(JSON.stringify(end)).not.toContain('hunter2-secret');
    const rows = await test.server.context.db.selectFrom('template_builds').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain('hunter2-secret');
  });

  it('frees layers and stored programs with their template', async () => {
    await build(test, 'short-lived', { steps: [{ type: 'RUN', args: ['touch /opt/x', 'root'] }] });
    const before = (await test.server.driver.layers.list()).length;
    expect((await test.api('DELETE', '/templates/short-lived')).status).toBe(204);
    expect((await test.server.driver.layers.list()).length).toBeLessThan(before);
  });
});
