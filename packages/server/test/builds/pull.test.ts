import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DEFAULT_ARCHIVE_LIMITS } from '@svc/runtime/contract';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openOciLayout } from '../../src/templates/builds/images/oci-layout.js';
import { pullImage } from '../../src/templates/builds/images/pull.js';
import { authFile } from '../../src/templates/builds/images/registry-auth.js';
import { writeOciLayout } from './oci-fixture.js';

let directory: string;
const pathBefore = process.env.PATH;
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'svc-pull-'));
});
afterEach(async () => {
  process.env.PATH = pathBefore;
  await rm(directory, { recursive: true, force: true });
});

/** Puts a program called skopeo first in PATH. */
async function standIn(script: string): Promise<void> {
  const bin = path.join(directory, 'bin');
  await mkdir(bin);
  await writeFile(path.join(bin, 'skopeo'), `#!/bin/sh\n${script}\n`);
  await chmod(path.join(bin, 'skopeo'), 0o755);
  process.env.PATH = `${bin}:${pathBefore}`;
}

async function pull(
  credentials?: { type: 'registry'; username: string; password: string },
  allowPrivateAddresses = true,
  more: { maxBytes?: number; hide?: string } = {},
) {
  const draft = path.join(directory, 'draft');
  await mkdir(draft, { recursive: true });
  return pullImage({
    reference: 'registry.example/app:1',
    registry: 'registry.example',
    credentials,
    allowPrivateAddresses,
    draft,
    maxBytes: 2 ** 30,
    ...more,
    signal: AbortSignal.timeout(120_000),
    onLine: () => {},
  });
}

async function find(tool: string): Promise<string> {
  for (const folder of (pathBefore ?? '').split(':'))
    if (existsSync(path.join(folder, tool))) return path.join(folder, tool);
  throw new Error(`${tool} is not in PATH`);
}

describe('pulling an image', () => {
  it('hands credentials over in a private file, never on the command line or in the environment', async () => {
    await writeOciLayout(path.join(directory, 'made'), [[{ name: 'a', content: 'a' }]]);
    await standIn(
      `echo "$@" > ${directory}/seen; env >> ${directory}/seen; for last; do :; done; target=\${last#oci:}; cp -R ${directory}/made "\${target%:latest}"`,
    );
    const layout = await pull({ type: 'registry', username: 'me', password: 'hunter2-secret' });
    expect((await openOciLayout(layout, 'latest', DEFAULT_ARCHIVE_LIMITS)).layers).toHaveLength(1);
    const seen = await readFile(path.join(directory, 'seen'), 'utf8');
    expect(seen).toContain('docker://registry.example/app:1');
    const encoded = Buffer.from('me:hunter2-secret').toString('base64');
    expect(seen).not.toContain('hunter2');
    expect(seen).not.toContain(encoded);
    const file = path.join(directory, 'draft', 'auth.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({
      auths: { 'registry.example': { auth: encoded } },
    });
  });

  it.each([
    ['a redirect or a token service on this machine', 'http://127.0.0.1:PORT/secret', ''],
    ['this machine by its name', 'http://localhost:PORT/secret', 'localhost:PORT'],
    ['this machine through the proxy', 'http://[::ffff:7f00:1]:PORT/secret', ''],
    ['the metadata service of a cloud', 'http://169.254.169.254/latest/meta-data', '169.254.169.254'],
    ['a private network', 'https://10.0.0.1/v2/', '10.0.0.1'],
  ])('reaches nothing private: not %s', async (_name, url, refused) => {
    const own = createServer((_request, response) => response.end('a secret of this machine'));
    own.listen(0, '127.0.0.1');
    await once(own, 'listening');
    onTestFinished(() => void own.close());
    const port = (own.address() as AddressInfo).port;
    const asked = url.replace('PORT', String(port));
    await standIn(`curl -sS --max-time 10 --noproxy 127.0.0.1 '${asked}' >&2 && exit 3; exit 1`);
    const failure = await pull(undefined, false).catch((error: Error) => error.message);
    expect(failure).not.toContain('a secret');
    if (refused !== '') expect(failure).toContain(`leads to '${refused.replace('PORT', String(port))}'`);
  });

  it.each([true, false])(
    'ends one that is larger than an image may be (private addresses: %s)',
    async (open) => {
      // Slower than anybody looks, so that its end comes first on a busy machine too.
      const piece = 'head -c 1000000 /dev/urandom; sleep 0.03; i=$((i+1))';
      await standIn(`i=0; while [ $i -lt 300 ]; do ${piece}; done > "$HOME/blob"; exec sleep 60`);
      await expect(pull(undefined, open, { maxBytes: 20_000_000 })).rejects.toThrow(/refused: .*maxBytes/);
      expect((await stat(path.join(directory, 'draft', 'blob'))).size).toBeLessThan(300_000_000);
    },
  );

  it('shows the tool nothing of what the server keeps but its own draft', async () => {
    await writeFile(path.join(directory, 'server.key'), 'the key of the server');
    // Outside of what is hidden.
    const bin = await mkdtemp(path.join(tmpdir(), 'svc-bin-'));
    onTestFinished(() => rm(bin, { recursive: true, force: true }));
    await writeFile(
      path.join(bin, 'skopeo'),
      `#!/bin/sh\n{ ls -A ${directory}; cat ${directory}/server.key; } > "$HOME/seen" 2>&1; touch "$TMPDIR/too"; exit 1\n`,
      { mode: 0o755 },
    );
    process.env.PATH = `${bin}:${pathBefore}`;
    await expect(pull(undefined, false, { hide: directory })).rejects.toThrow(/cannot be pulled/);
    const seen = await readFile(path.join(directory, 'draft', 'seen'), 'utf8');
    expect(seen).toMatch(/^draft\ncat: .*No such file/);
    expect(existsSync(path.join(directory, 'draft', 'too'))).toBe(true);
    expect(await readFile(path.join(directory, 'server.key'), 'utf8')).toBe('the key of the server');
  });

  it('behind the guard still names the tool that is missing', async () => {
    const bin = path.join(directory, 'bare');
    await mkdir(bin);
    for (const tool of ['unshare', 'ip']) await symlink(await find(tool), path.join(bin, tool));
    process.env.PATH = bin;
    await expect(pull(undefined, false)).rejects.toThrow(/apt-get install skopeo/);
  });

  it('fails with the last words of the tool and what else can be done', async () => {
    await standIn('echo first >&2; echo "unauthorized: no such account" >&2; exit 1');
    await expect(pull()).rejects.toThrow(/unauthorized: no such account.*oci:\/path/);
  });

  it('names the tool that is missing', async () => {
    process.env.PATH = directory;
    await expect(pull()).rejects.toThrow(/apt-get install skopeo/);
  });

  it('knows the accounts of registries, and says which it does not know', () => {
    expect(authFile('gcr.io', { type: 'gcp', serviceAccountJson: '{}' })).toContain(
      Buffer.from('_json_key:{}').toString('base64'),
    );
    const aws = { type: 'aws', awsAccessKeyId: 'a', awsSecretAccessKey: 'b', awsRegion: 'c' } as const;
    expect(() => authFile('x', aws)).toThrow(/get-login-password/);
  });
});

describe('an image layout', () => {
  it('is refused when a layer does not fit its digest', async () => {
    const layout = path.join(directory, 'damaged');
    await writeOciLayout(layout, [[{ name: 'a', content: 'a' }]]);
    expect((await openOciLayout(layout, undefined, DEFAULT_ARCHIVE_LIMITS)).layers).toHaveLength(1);
    const index = JSON.parse(await readFile(path.join(layout, 'index.json'), 'utf8'));
    const blob = (digest: string) => path.join(layout, 'blobs', 'sha256', digest.slice(7));
    const manifest = JSON.parse(await readFile(blob(index.manifests[0].digest), 'utf8'));
    const layer = blob(manifest.layers[0].digest);
    await writeFile(layer, Buffer.concat([await readFile(layer), Buffer.from([0])]));
    await expect(openOciLayout(layout, undefined, DEFAULT_ARCHIVE_LIMITS)).rejects.toThrow(
      /layer does not fit/,
    );
    await writeFile(blob(index.manifests[0].digest), '{}');
    await expect(openOciLayout(layout, undefined, DEFAULT_ARCHIVE_LIMITS)).rejects.toThrow(/damaged/);
    await expect(openOciLayout(layout, 'other', DEFAULT_ARCHIVE_LIMITS)).rejects.toThrow(
      /no image with the tag 'other'/,
    );
    await expect(openOciLayout(directory, undefined, DEFAULT_ARCHIVE_LIMITS)).rejects.toThrow(
      /no complete OCI image layout/,
    );
  });
});
