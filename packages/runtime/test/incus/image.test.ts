import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readlink,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { IncusClient } from '../../src/incus/incus-client.js';
import { IncusError } from '../../src/incus/incus-error.js';
import { Addresses } from '../../src/incus-driver/addresses.js';
import { driverError, isNameTaken } from '../../src/incus-driver/driver-error.js';
import { composeImage } from '../../src/incus-driver/image/compose-image.js';
import { Images } from '../../src/incus-driver/image/images.js';
import { LayerFiles } from '../../src/incus-driver/image/layer-files.js';
import { readTarEntries } from '../../src/incus-driver/image/tar-entries.js';
import { tarOfTree } from '../../src/incus-driver/image/tar-of-tree.js';
import { IndexBuilder, isHidden } from '../../src/incus-driver/image/whiteouts.js';
import { instanceDevices } from '../../src/incus-driver/instance-config.js';
import { imageKeys } from '../../src/incus-driver/keys.js';
import { tarOf, tarOfEntries } from '../../src/testing/tar.js';
import { planTrialCluster } from '../../src/trial-cluster/plan.js';
import { formatToken, parseToken } from '../../src/trial-cluster/token.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'incus-image-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

describe('an image of layers', () => {
  const facts = { architecture: 'x86_64', createdAtMs: 1_700_000_000_000, properties: { 'svc.stack': 'x' } };
  const longName = `deep/${'n'.repeat(90)}/${'m'.repeat(90)}`;

  async function tree(
    name: string,
    fill: (at: (path: string) => string) => Promise<unknown>,
  ): Promise<string> {
    const root = join(directory, name);
    await mkdir(root);
    await fill((path) => join(root, path));
    return root;
  }

  async function unpacked(parts: Parameters<typeof composeImage>[1]): Promise<string> {
    const out = join(directory, 'out');
    await mkdir(out);
    const tar = spawn('tar', ['-x', '-f', '-', '-C', out, '--numeric-owner'], {
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    const closed = once(tar, 'close');
    await pipeline(Readable.from(composeImage(facts, parts)), tar.stdin);
    expect((await closed)[0]).toBe(0);
    return out;
  }

  async function layer(root: string) {
    const builder = new IndexBuilder();
    for await (const { entry } of readTarEntries(tarOfTree(root))) builder.add(entry.path, entry.type);
    return { open: () => tarOfTree(root), index: builder.index };
  }

  it('is what overlaid layers show, with names of any length, links and modes', async () => {
    const low = await tree('low', async (at) => {
      await mkdir(at('bin'));
      await mkdir(at('kind'));
      await writeFile(at('kind/below'), 'hidden');
      await symlink('elsewhere', at('turns'));
      await mkdir(at(join(longName, '..')), { recursive: true });
      await writeFile(at(longName), 'long');
      await writeFile(at('bin/one'), 'one');
      await chmod(at('bin/one'), 0o4755);
      await link(at('bin/one'), at('bin/two'));
      await symlink('bin/one', at('link'));
      await writeFile(at('shared'), 'low');
      await mkdir(at('.sbx'));
      await writeFile(at('.sbx/mine'), 'forged');
    });
    const high = await tree('high', async (at) => {
      await writeFile(at('shared'), 'high');
      await writeFile(at('kind'), 'a file now');
      await mkdir(at('turns'));
      await writeFile(at('turns/in'), 'in');
      await mkdir(at('bin'));
      await writeFile(at('bin/one'), 'new one');
    });
    const agent = await tree('agent', (at) => writeFile(at('node'), 'program'));
    const out = await unpacked([
      { open: () => tarOfTree(low) },
      await layer(high),
      { open: () => tarOfTree(agent), into: '.sbx/' },
    ]);
    const read = (path: string) => readFile(join(out, 'rootfs', path), 'utf8');
    expect(JSON.parse(await readFile(join(out, 'metadata.yaml'), 'utf8'))).toEqual({
      architecture: 'x86_64',
      creation_date: 1_700_000_000,
      properties: { 'svc.stack': 'x' },
    });
    expect(await read('shared')).toBe('high');
    expect(await read(longName)).toBe('long');
    expect(await read('bin/one')).toBe('new one');
    expect(await read('bin/two')).toBe('one');
    expect((await lstat(join(out, 'rootfs/bin/two'))).mode & 0o7777).toBe(0o4755);
    expect(await readlink(join(out, 'rootfs/link'))).toBe('bin/one');
    expect(await read('kind')).toBe('a file now');
    expect(await read('turns/in')).toBe('in');
    expect(await read('.sbx/node')).toBe('program');
    await expect(read('.sbx/mine')).rejects.toThrow('ENOENT');
  });

  it('is made again from an image, of which only the root file system is taken', async () => {
    const low = await tree('low', async (at) => {
      await writeFile(at('note'), 'note');
      await link(at('note'), at('other'));
    });
    const first = composeImage(facts, [{ open: () => tarOfTree(low) }]);
    const bytes = Buffer.concat(await Readable.from(first).toArray());
    const out = await unpacked([{ open: () => Readable.from([bytes]), within: 'rootfs/' }]);
    expect(await readFile(join(out, 'rootfs/other'), 'utf8')).toBe('note');
    await expect(lstat(join(out, 'rootfs/metadata.yaml'))).rejects.toThrow('ENOENT');
  });

  it.each([
    ['a/b', '0', true],
    ['a/b/c', '0', true],
    ['a', '5', false],
    ['d', '0', true],
    ['d', '5', false],
    ['f', '0', false],
    ['f', '5', true],
    ['other', '0', false],
  ])('hides %s of type %s: %s', (path, type, hidden) => {
    const above = new IndexBuilder();
    for (const [name, kind] of [
      ['a', '5'],
      ['a/b', '2'],
      ['d', '5'],
      ['f', '0'],
    ] as const)
      above.add(name, kind);
    // A link over a file takes its place, regardless of its content.
    expect(isHidden(path, type, [above.index])).toBe(path === 'a/b' ? false : hidden);
  });

  it('refuses layers that would be unpacked outside, and leaves nothing of them', async () => {
    const files = new LayerFiles(join(directory, 'layers'));
    await files.prepare();
    const forged = tarOfEntries([
      { name: 'away', type: 'symlink', linkname: '/etc' },
      { name: 'away/passwd', content: 'forged' },
    ]);
    await expect(files.addArchive(forged, {})).rejects.toMatchObject({ code: 'invalid_archive' });
    expect(await files.list()).toEqual([]);
    const kept = await files.addArchive(tarOf({ 'etc/os-release': 'x' }), {});
    expect(kept.full).toBe(true);
    expect(await files.list()).toEqual([kept]);
  });
});

describe('images of another data directory', () => {
  const published = {
    fingerprint: 'f1'.repeat(32),
    size: 7,
    properties: { [imageKeys.owner]: 'lost', [imageKeys.layer]: 'made', [imageKeys.agent]: 'a1' },
  };
  const imagesOf = async () => {
    const layers = new LayerFiles(join(directory, 'layers'));
    await layers.prepare();
    const patches: unknown[] = [];
    const client = {
      call: async () => [published],
      find: async (call: unknown) => void patches.push(call),
    } as unknown as IncusClient;
    const images = new Images({
      ...{
        client,
        layers,
        agent: '',
        agentName: 'a1',
        architecture: 'x86_64',
        nameServers: [],
        owner: 'own',
      },
      base: () => ({ name: 'base', tree: '' }),
      now: () => 0,
    });
    return { images, layers, patches };
  };

  it('can be started from where the layer is an image, and not where it is an archive', async () => {
    const { images, layers } = await imagesOf();
    expect(await images.has([])).toBe(true);
    expect(await images.has(['made'])).toBe(true);
    // Nothing below a whole image is used.
    expect(await images.has(['archived-there', 'made'])).toBe(true);
    expect(await images.has(['made', 'archived-there'])).toBe(false);
    await layers.add({ id: 'archived-here', sizeBytes: 1, full: true });
    expect(await images.has(['archived-here'])).toBe(false);
  });

  it('are taken with the layers that they are', async () => {
    const { images, layers, patches } = await imagesOf();
    await images.take(published);
    expect(await layers.find('made')).toEqual({
      id: 'made',
      sizeBytes: 7,
      full: true,
      image: published.fingerprint,
      agent: 'a1',
    });
    const properties = { ...published.properties, [imageKeys.owner]: 'own' };
    expect(patches).toEqual([
      { method: 'PATCH', path: `/images/${published.fingerprint}`, body: { properties } },
    ]);
    const stack = { [imageKeys.owner]: 'lost', [imageKeys.layers]: 'made', [imageKeys.stack]: 's' };
    await images.take({ fingerprint: 'f2', size: 1, properties: stack });
    expect(await layers.list()).toHaveLength(1);
  });
});

describe('addresses of sandboxes', () => {
  it('are taken in turn, none twice, until there is none', () => {
    const addresses = new Addresses('10.1.2.0/29', 0);
    addresses.use('10.1.2.2');
    expect([1, 2, 3, 4, 5].map(() => addresses.take())).toEqual([
      '10.1.2.1',
      '10.1.2.3',
      '10.1.2.4',
      '10.1.2.5',
      '10.1.2.6',
    ]);
    expect(() => addresses.take()).toThrow('no room');
    addresses.release('10.1.2.4');
    expect(addresses.take()).toBe('10.1.2.4');
  });

  it('are left to other servers that have them, unless there is no other', () => {
    const addresses = new Addresses('10.1.2.0/30', 0);
    addresses.setOthers(['10.1.2.1']);
    expect(addresses.take()).toBe('10.1.2.2');
    addresses.leave('10.1.2.2');
    // The knowledge about others may be old.
    expect([addresses.take(), addresses.take()].sort()).toEqual(['10.1.2.1', '10.1.2.2']);
    expect(() => addresses.take()).toThrow('no room');
    for (const address of ['10.1.2.1', '10.1.2.2']) addresses.leave(address);
    addresses.setOthers(['10.1.2.1']);
    expect(addresses.take()).toBe('10.1.2.2');
  });

  it.each([
    'Failed creating instance record: Add instance info to the database: Failed to create "instances" entry: UNIQUE constraint failed: instances.project_id, instances.name',
    'Failed creating instance record: Instance is busy running a "create" operation',
  ])('are known to be taken when Incus says: %s', (message) => {
    expect(isNameTaken(new IncusError(500, message))).toBe(true);
    expect(isNameTaken(new IncusError(500, 'Instance is busy running a "stop" operation'))).toBe(false);
  });

  it.each(['', '10.0.0.0', '10.0.0.0/31', '10.0.0.256/24', 'fd00::/64'])('refuse the range %j', (range) => {
    expect(() => new Addresses(range, 0)).toThrow('is no range of addresses');
  });
});

describe('the errors of the driver', () => {
  const failed = { code: 'create_failed', message: 'The sandbox could not be started.' } as const;

  it.each([
    [new IncusError(0, 'Incus does not answer'), 'unreachable'],
    [new IncusError(500, 'write x: no space left on device'), 'storage_full'],
    [new IncusError(500, 'openat backup.yaml: disk quota exceeded'), 'storage_full'],
    [new IncusError(403, 'not authorized'), 'unreachable'],
    [new IncusError(403, 'Cluster member is evacuated'), 'create_failed'],
    [new IncusError(404, 'Instance not found'), 'instance_gone'],
    [new IncusError(500, 'Failed to run forkstart /root/secret'), 'create_failed'],
  ])('%o', (error, code) => {
    const thrown = driverError(error, failed);
    expect(thrown).toMatchObject({ code, detail: error.message });
    expect((thrown as Error).message).not.toContain('/root');
  });

  it('lets through what is not of Incus', () => {
    const error = new TypeError('odd');
    expect(driverError(error, failed)).toBe(error);
  });

  it('counts a disk limit from the image on', () => {
    const { root } = instanceDevices({
      pool: 'p',
      parent: 'eth0',
      address: '10.0.0.1',
      mode: 'internet',
      limits: { diskMiB: 64 },
      imageBytes: 2 ** 20 + 1,
    });
    expect(root).toEqual({ type: 'disk', path: '/', pool: 'p', size: '66MiB' });
  });
});

describe('a trial cluster', () => {
  it('has marks and places that follow from its directory', () => {
    const one = planTrialCluster('/a/b/../c', 2);
    expect(one).toEqual(planTrialCluster('/a/c', 2));
    expect(one.mark).not.toBe(planTrialCluster('/a/d', 2).mark);
    expect(one.members.map(({ name, address }) => [name, address])).toEqual([
      ['m1', '10.77.0.11'],
      ['m2', '10.77.0.12'],
    ]);
  });

  it('reads the token that it writes, and says what is none', () => {
    const token = {
      serverName: 'm2',
      fingerprint: 'ab',
      addresses: ['10.0.0.1:8443'],
      secret: 's',
      expiresAt: '2026-01-01T00:00:00Z',
    };
    expect(parseToken(` ${formatToken(token)}\n`)).toEqual(token);
    for (const text of [
      '',
      'x',
      Buffer.from('{}').toString('base64'),
      Buffer.from('{"addresses":[]}').toString('base64'),
    ])
      expect(() => parseToken(text)).toThrow('incus cluster add');
  });
});
