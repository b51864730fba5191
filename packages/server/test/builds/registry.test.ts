import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { DEFAULT_ARCHIVE_LIMITS } from '@svc/runtime/contract';
import { extract } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '#support/eventually';
import { openOciLayout } from '../../src/templates/builds/images/oci-layout.js';
import { pullImage } from '../../src/templates/builds/images/pull.js';
import { squashImage } from '../../src/templates/builds/images/squash.js';
import type { TarFile } from '../support/templates.js';
import { byZstd, writeOciLayout } from './oci-fixture.js';

const missing = ['docker-registry', 'skopeo', 'openssl', 'perl'].filter(
  (name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0,
);
const reason =
  missing.length > 0
    ? `${missing.join(', ')} missing (scripts/prepare-host.sh --tests)`
    : process.getuid?.() === 0
      ? undefined
      : 'it takes root';
if (reason !== undefined) console.warn(`Images of a registry: skipped, ${reason}`);

const USER = 'puller';
const PASSWORD = 'its-password';

const LOWER: TarFile[] = [
  { name: 'bin/sh', content: '#!', mode: 0o755 },
  { name: 'data/old', content: 'old' },
  { name: 'data/kept', content: 'kept', uid: 33, gid: 44 },
  { name: 'emptied/one', content: '1' },
  { name: 'shared', content: 'shared', mode: 0o4755 },
  { name: 'twin', type: 'link', linkname: 'shared' },
  { name: 'app', type: 'symlink', linkname: '/data/kept' },
];
const UPPER: TarFile[] = [
  { name: 'data/.wh.old' },
  { name: 'emptied/.wh..wh..opq' },
  { name: 'emptied/two', content: '2' },
];

describe.skipIf(reason !== undefined)('images of a registry with TLS and a password', () => {
  let home: string;
  let registry: string;
  let trusted: string;
  let server: ReturnType<typeof spawn>;

  beforeAll(async () => {
    home = await mkdtemp(path.join(tmpdir(), 'svc-registry-'));
    // It cannot say which port it got, so it is told one that the system gives nobody.
    registry = `127.0.0.1:${12_000 + (process.pid % 8_000)}`;
    execFileSync(
      'openssl',
      [
        ...[
          'req',
          '-x509',
          '-newkey',
          'ec',
          '-pkeyopt',
          'ec_paramgen_curve:prime256v1',
          '-nodes',
          '-days',
          '2',
        ],
        ...['-subj', '/CN=registry of a test', '-addext', 'subjectAltName=IP:127.0.0.1'],
        ...['-keyout', path.join(home, 'key.pem'), '-out', path.join(home, 'ca.crt')],
      ],
      { stdio: 'ignore' },
    );
    // Where image tools look for the authority of one registry; the directory is this registry's own.
    trusted = `/etc/containers/certs.d/${registry}`;
    await mkdir(trusted, { recursive: true });
    await cp(path.join(home, 'ca.crt'), path.join(trusted, 'ca.crt'));
    const hash = execFileSync('perl', ['-e', `print crypt('${PASSWORD}', '$2y$05$abcdefghijklmnopqrstuu')`]);
    await writeFile(path.join(home, 'htpasswd'), `${USER}:${hash}\n`);
    await writeFile(
      path.join(home, 'config.yml'),
      JSON.stringify({
        version: '0.1',
        log: { level: 'error', accesslog: { disabled: true } },
        storage: { filesystem: { rootdirectory: path.join(home, 'registry') } },
        http: {
          addr: registry,
          tls: { certificate: path.join(home, 'ca.crt'), key: path.join(home, 'key.pem') },
        },
        auth: { htpasswd: { realm: 'test', path: path.join(home, 'htpasswd') } },
      }),
    );
    server = spawn('docker-registry', ['serve', path.join(home, 'config.yml')], { stdio: 'ignore' });
    await eventually('the registry to answer', () =>
      spawnSync('openssl', ['s_client', '-connect', registry], { input: '' }).status === 0 ? true : undefined,
    );
    await writeOciLayout(path.join(home, 'image'), [LOWER, UPPER], { env: ['FLAVOUR=pulled'] });
    push('image', 'app:1');
    const foreign = process.arch === 'x64' ? 'arm64' : 'amd64';
    await writeOciLayout(path.join(home, 'foreign'), [LOWER], { architecture: foreign });
    push('foreign', 'foreign:1');
  });
  afterAll(async () => {
    server?.kill('SIGKILL');
    await rm(trusted, { recursive: true, force: true });
    await rm(home, { recursive: true, force: true });
  });

  function push(layout: string, name: string, ...options: string[]): void {
    execFileSync('skopeo', [
      ...['copy', '--quiet', '--dest-creds', `${USER}:${PASSWORD}`, ...options],
      ...[`oci:${path.join(home, layout)}:latest`, `docker://${registry}/${name}`],
    ]);
  }

  async function pull(
    name: string,
    options: { password?: string; anonymous?: boolean; privateAllowed?: boolean } = {},
  ) {
    const draft = await mkdtemp(path.join(home, 'draft-'));
    const { password = PASSWORD, anonymous = false, privateAllowed = true } = options;
    const layout = await pullImage({
      reference: `${registry}/${name}`,
      registry,
      credentials: anonymous ? undefined : { type: 'registry', username: USER, password },
      allowPrivateAddresses: privateAllowed,
      maxBytes: 64 * 2 ** 20,
      draft,
      signal: AbortSignal.timeout(120_000),
      onLine: () => {},
    });
    return openOciLayout(layout, 'latest', DEFAULT_ARCHIVE_LIMITS);
  }

  async function entriesOf(name: string): Promise<Record<string, string>> {
    const image = await pull(name);
    expect(image.env).toEqual(['FLAVOUR=pulled']);
    expect(image.layers).toHaveLength(2);
    const files: Record<string, string> = {};
    const squashed = await squashImage(image, DEFAULT_ARCHIVE_LIMITS, AbortSignal.timeout(120_000));
    for await (const entry of squashed.pipe(extract())) {
      const { name: file, type, linkname, uid, gid, mode } = entry.header;
      const content = await text(entry);
      if (type === 'directory') continue;
      files[file.replace(/^\.?\//, '')] =
        type === 'file' ? `${content} ${uid}:${gid} ${(mode! & 0o7777).toString(8)}` : `${type} ${linkname}`;
    }
    return files;
  }

  it('come with all layers: whiteouts, hard links, owners, set-user-id bits, environment', async () => {
    const files = await entriesOf('app:1');
    expect(files).toMatchObject({
      'data/kept': 'kept 33:44 644',
      'emptied/two': '2 0:0 644',
      shared: 'shared 0:0 4755',
      app: 'symlink /data/kept',
    });
    expect(files.twin).toMatch(/^(link \.?\/?shared|shared 0:0 4755)$/);
    expect(Object.keys(files)).not.toContain('data/old');
    expect(Object.keys(files)).not.toContain('emptied/one');
  });

  it.skipIf(spawnSync('zstd', ['--version']).status !== 0)(
    'come compressed by zstd too, in several frames',
    async () => {
      // Other content: a layer that the registry has by gzip would not be sent again.
      const upper = [...UPPER, { name: 'three', content: 'by zstd' }];
      const options = {
        env: ['FLAVOUR=pulled'],
        mediaType: 'application/vnd.oci.image.layer.v1.tar+zstd',
        pack: (tar: Buffer) => Buffer.concat([byZstd(tar.subarray(0, 512)), byZstd(tar.subarray(512))]),
      };
      await writeOciLayout(path.join(home, 'zstd'), [LOWER, upper], options);
      push('zstd', 'zipped:1');
      expect(await entriesOf('zipped:1')).toMatchObject({ three: 'by zstd 0:0 644' });
    },
  );

  it.each<[string, string]>([
    [
      'has images of its own, for root alone',
      'mkdir /var/lib/containers/sigstore; chmod 700 /var/lib/containers',
    ],
    ['has settings for root alone', 'chmod 700 /etc/containers /var/lib/containers /etc/docker'],
    [
      'has settings that are none',
      'for f in registries.conf policy.json; do echo "%[[" > /etc/containers/$f; done',
    ],
    [
      'has settings in parts that are none',
      'cd /etc/containers; mkdir registries.d registries.conf.d; echo "{{:" > registries.d/a.yaml; echo "%[[" > registries.conf.d/a.conf',
    ],
    ['accepts no image', `echo '{"default": [{"type": "reject"}]}' > /etc/containers/policy.json`],
    [
      'blocks the registry and has another name for it',
      `printf '[[registry]]\nprefix = "REGISTRY"\nlocation = "other.invalid"\nblocked = true\n' > /etc/containers/registries.conf`,
    ],
    [
      'keeps passwords in a program',
      `printf 'credential-helpers = ["secretservice"]\n' > /etc/containers/registries.conf; mkdir -p /root/.docker; echo '{"credsStore": "none", "auths": 7}' > /root/.docker/config.json`,
    ],
    [
      'has signatures in the way',
      'rm -rf /var/lib/containers/*; touch /var/lib/containers/cache /var/lib/containers/sigstore; mkdir /etc/containers/registries.d; echo "default-docker: {lookaside: file:///etc/shadow/x}" > /etc/containers/registries.d/a.yaml',
    ],
  ])('come to a host that %s', async (_name, change) => {
    // The view of the tool: it is nobody there, and root in a user namespace of its own.
    const script = `
set -e
chown -R 65534:65534 "$HOME"
for directory in /etc/containers /etc/docker /var/lib/containers /root; do
  mkdir -p $directory && mount -t tmpfs hostile $directory
done
echo '{"default": [{"type": "insecureAcceptAnything"}]}' > /etc/containers/policy.json
mkdir -p ${trusted} && cp ${home}/ca.crt ${trusted}
(${change.replaceAll('REGISTRY', registry)})
exec setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user "$@"`;
    const bin = await mkdtemp(path.join(home, 'bin-'));
    const skopeo = execFileSync('sh', ['-c', 'command -v skopeo']).toString().trim();
    await chmod(home, 0o755);
    await writeFile(path.join(bin, 'script'), script);
    await writeFile(
      path.join(bin, 'skopeo'),
      `#!/bin/sh\nexec unshare --mount sh ${bin}/script ${skopeo} "$@"\n`,
      { mode: 0o755 },
    );
    const before = process.env.PATH;
    process.env.PATH = `${bin}:${before}`;
    onTestFinished(() => {
      process.env.PATH = before;
    });
    expect(await entriesOf('app:1')).toMatchObject({ 'data/kept': 'kept 33:44 644' });
  });

  it('are refused without their password, with a wrong one, and when there is none of that name', async () => {
    await expect(pull('app:1', { anonymous: true })).rejects.toThrow(
      /cannot be pulled: .*authentication required/,
    );
    const failure = pull('app:1', { password: 'wrong-guess' });
    await expect(failure).rejects.toThrow(/cannot be pulled: .*(authentication required|unauthorized)/);
    await expect(failure).rejects.not.toThrow(/wrong-guess/);
    await expect(pull('nothing:1')).rejects.toThrow(/cannot be pulled: .*(manifest unknown|not found)/);
  });

  it('are refused when they are made for another processor', async () => {
    await expect(pull('foreign:1')).rejects.toThrow(/is made for linux\/\w+, and this server runs linux\//);
  });

  it('are out of reach while private registries are not allowed', async () => {
    await expect(pull('app:1', { privateAllowed: false })).rejects.toThrow(
      // From a network of its own, where this machine is not.
      /no public address|connection refused/,
    );
  });
});
