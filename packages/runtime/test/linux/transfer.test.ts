import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import type { Driver } from '../../src/contract/driver.js';
import type { ObjectDescription, StoredObject } from '../../src/contract/transfers.js';
import { createLinuxDriver } from '../../src/linux-driver/create-linux-driver.js';
import { NamespaceKeeper } from '../../src/linux-driver/namespace/namespace-keeper.js';
import { pathsOf } from '../../src/linux-driver/state/paths.js';
import { tarBytes, tarOf } from '../../src/testing/tar.js';
import { Workbench } from '../../src/testing/workbench.js';
import { openEnvelope, writeEnvelope } from '../../src/transfer/envelope.js';
import { envdProgram } from '../support/envd-program.js';
import { linuxSkipReason, memorySkipReason } from '../support/linux-host.js';
import { overSocket } from '../support/serve-for-test.js';

const skip = linuxSkipReason();
const memory = memorySkipReason() === undefined;

const KEY = Buffer.alloc(32, 'k');

/** Files of all kinds that an overlay keeps, some with names and holes that archives have forms of their own for. */
const MAKE = `
set -e
mkdir -p /opt/kept/sub; cd /opt/kept
echo text >file; ln file hard; ln -s file soft; ln -s /etc/shadow far; mkfifo pipe; chmod 4711 file
truncate -s 50M holes; echo end >>holes; echo odd >"$(printf 'odd \\377\\n name')"
echo long >"$(printf 'l%.0s' $(seq 200))"; touch -d '2001-02-03 04:05:06.789012345' old; chown 1000:1234 old
python3 -c 'import os; os.setxattr("file", "user.note", b"kept")'
rm -r /etc/profile.d; mkdir /etc/profile.d; rm /etc/shells`;

const LOOK = `
cd /opt/kept; find . ! -type d -printf '%P %y %m %U %G %s %n %l %T@\\n' | sort; stat -c %b holes
python3 -c 'import os; print(os.getxattr("file", "user.note"))'
test hard -ef file && echo linked; ls -A /etc/profile.d; test -e /etc/shells || echo removed; cat /opt/of-layer`;

function* inPieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

/** Some twenty seconds: by hand. */
const heavy = process.env.SVC_HEAVY === '1';

describe.skipIf(skip !== undefined || !heavy)('stored objects on their way to another host', () => {
  const benchOn = (wrap: (driver: Driver) => Promise<Driver> | Driver = (driver) => driver) =>
    new Workbench(async ({ dataDir }) =>
      wrap(await createLinuxDriver({ dataDir, daemon: envdProgram, baseRoot: 'host', transferKey: KEY })),
    );
  const source = benchOn();
  // As servers have it: the runtime is a process of its own.
  const target = benchOn(overSocket);
  const checkpoint = { kind: 'checkpoint', id: 'moved' } as const;
  let layer: StoredObject;
  let looks: string;
  let count: number;

  beforeAll(async () => {
    await source.open();
    await target.open();
    const { id } = await source.driver.layers.importTar(
      // Large enough to travel in several pieces.
      tarOf({ 'opt/filler': 'x'.repeat(3 * 2 ** 20), 'opt/of-layer': 'from the layer\n' }),
    );
    layer = { kind: 'layer', id };
    const { instance, client } = await source.create({ layers: [id] });
    expect(await client.run(MAKE, 'root')).toMatchObject({ exitCode: 0 });
    looks = (await client.run(LOOK, 'root')).stdout;
    expect(looks).toContain('removed');
    await client.start(
      'n=0; while :; do n=$((n+1)); echo $n >/tmp/count.new; mv /tmp/count.new /tmp/count; sleep 0.1; done',
    );
    const counted = async () => Number((await client.run('cat /tmp/count')).stdout);
    await eventually('the program to count', async () => (await counted()) > 0);
    count = await counted();
    await instance.checkpoint({ checkpointId: checkpoint.id, memory, then: 'destroy' });
  });
  afterAll(async () => {
    for (const bench of [source, target]) {
      await bench.close();
      await bench.remove();
    }
  });

  const from = () => source.driver.transfers!;
  const to = () => target.driver.transfers!;
  const bytesOf = async (object: StoredObject, offset = 0) => buffer(await from().export(object, { offset }));
  /** Names of everything that is being made, or was and is not whole. */
  const drafts = () => {
    const keeper = NamespaceKeeper.find(pathsOf(target.dataDir))!;
    return ['c', 'l', 'agents'].flatMap((folder) =>
      readdirSync(keeper.view(join(target.dataDir, 'store', folder))).filter((name) => name.startsWith('.')),
    );
  };
  const isThere = async (object: StoredObject) => (await to().has(object)) || drafts().length > 0;
  const take = (object: StoredObject, bytes: Buffer, maxBytes?: number) =>
    to().import(object, Readable.from(inPieces(bytes), { objectMode: false }), {
      ...(maxBytes === undefined ? {} : { maxBytes }),
    });

  it('are the same bytes each time, from any offset', async () => {
    for (const object of [layer, checkpoint]) {
      const whole = await bytesOf(object);
      expect((await bytesOf(object)).equals(whole)).toBe(true);
      for (const offset of [1, Math.floor(whole.length / 2), whole.length - 1, whole.length])
        expect((await bytesOf(object, offset)).equals(whole.subarray(offset))).toBe(true);
    }
  });

  it('say what they need, and are refused where that is missing', async () => {
    const described: ObjectDescription = await from().describe(checkpoint);
    expect(described).toMatchObject({ ...checkpoint, memory, machine: from().machine });
    expect(described.needs).toContainEqual(layer);
    expect(described.sizeBytes).toBeGreaterThan(0);
    await expect(from().describe({ kind: 'layer', id: 'none' })).rejects.toMatchObject({ code: 'not_found' });
    await expect(to().export(checkpoint)).rejects.toMatchObject({ code: 'not_found' });
    await expect(take(checkpoint, await bytesOf(checkpoint))).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining(layer.id),
    });
    expect(await isThere(checkpoint)).toBe(false);
  });

  it('leave nothing behind when they are cut short, changed, another one, too large, or broken off', async () => {
    const bytes = await bytesOf(layer);
    for (const length of [0, 5, 100, Math.floor(bytes.length / 2), bytes.length - 1])
      await expect(take(layer, bytes.subarray(0, length))).rejects.toMatchObject({ code: 'invalid_archive' });
    const changed = Buffer.from(bytes);
    changed[bytes.length - 700]! ^= 1;
    await expect(take(layer, changed)).rejects.toMatchObject({ code: 'invalid_archive' });
    await expect(take({ kind: 'layer', id: 'another' }, bytes)).rejects.toMatchObject({
      code: 'invalid_archive',
    });
    await expect(take(layer, bytes, 1)).rejects.toMatchObject({ code: 'invalid_archive' });
    const endless = new PassThrough();
    endless.write(bytes.subarray(0, bytes.length - 40));
    const stop = new AbortController();
    const taking = to().import(layer, endless, { signal: stop.signal });
    await eventually('it has begun', () => drafts().length > 0);
    stop.abort(new Error('given up'));
    await expect(taking).rejects.toThrow('given up');
    const broken = new PassThrough();
    broken.write(bytes.subarray(0, bytes.length - 40));
    const failing = to().import(layer, broken);
    await eventually('it has begun', () => drafts().length > 0);
    broken.destroy(new Error('the connection is lost'));
    await expect(failing).rejects.toThrow();
    await eventually('its draft to be removed', () => drafts().length === 0);
    expect(await isThere(layer)).toBe(false);
  });

  it('are refused by what they hold, although their digest is right', async () => {
    const { head } = await openEnvelope(await from().export(layer), KEY);
    const forge = (entries: Parameters<typeof tarBytes>[0], change: object = {}) =>
      buffer(writeEnvelope({ ...(head as object), ...change }, Readable.from([tarBytes(entries)]), KEY));
    const outside = join(tmpdir(), `svc-outside-${process.pid}`);
    const root = { name: 'root', type: 'directory' } as const;
    for (const entries of [
      [root, { name: `root/../../../../../..${outside}` }],
      [root, { name: outside }],
      [root, { name: 'root/disk', type: 'block', device: { major: 7, minor: 0 } }],
      [{ name: 'root', type: 'symlink', linkname: '/tmp' }],
      [root, { name: 'root/x', content: Buffer.alloc(70 * 2 ** 20) }],
    ] as Parameters<typeof tarBytes>[0][])
      await expect(take(layer, await forge(entries, { sizeBytes: 0 }))).rejects.toMatchObject({
        code: 'invalid_archive',
      });
    await expect(take(layer, await forge([root], { sizeBytes: 2 ** 50 }))).rejects.toMatchObject({
      code: 'invalid_archive',
    });
    await expect(
      take(layer, await forge([root], { sizeBytes: 30 * 2 ** 30 * 1024 }), 2 ** 52),
    ).rejects.toMatchObject({ code: 'storage_full' });
    expect(existsSync(outside)).toBe(false);
    expect(await isThere(layer)).toBe(false);
  });

  it.runIf(memory)(
    'with memory are refused by a machine without a feature that its programs may use',
    async () => {
      const { head, body } = await openEnvelope(await from().export(checkpoint), KEY);
      const machine = { ...from().machine, cpuFeatures: [...from().machine.cpuFeatures, 'avx_of_tomorrow'] };
      for (const needed of (await from().describe(checkpoint)).needs)
        await take(needed, await bytesOf(needed));
      const archive = Readable.from(writeEnvelope({ ...(head as object), machine }, body, KEY));
      await expect(to().import(checkpoint, archive)).rejects.toMatchObject({
        code: 'unsupported',
        message: expect.stringContaining('avx_of_tomorrow'),
      });
      archive.destroy();
      expect(await isThere(checkpoint)).toBe(false);
    },
  );

  it('continue there, with files and memory as they were, and are taken once', async () => {
    for (const needed of (await from().describe(checkpoint)).needs)
      if (!(await to().has(needed))) await take(needed, await bytesOf(needed));
    const bytes = await bytesOf(checkpoint);
    await Promise.all([take(checkpoint, bytes), take(checkpoint, bytes), take(checkpoint, bytes)]);
    expect(drafts()).toEqual([]);
    expect(await target.driver.listCheckpoints()).toMatchObject([{ id: checkpoint.id, memory }]);
    // The original is deleted: the copy does not depend on it.
    await source.driver.deleteCheckpoint(checkpoint.id);
    for (let copy = 0; copy < 2; copy += 1) {
      const { instance, client } = await target.restore(checkpoint.id, memory);
      expect((await client.run(LOOK, 'root')).stdout).toBe(looks);
      if (memory) {
        const before = Number((await client.run('cat /tmp/count')).stdout);
        expect(before).toBeGreaterThanOrEqual(count);
        await eventually(
          'the program to continue',
          async () => Number((await client.run('cat /tmp/count')).stdout) > before,
        );
      }
      await instance.destroy();
    }
    await expect(target.driver.layers.delete(layer.id)).rejects.toMatchObject({ code: 'busy' });
  });

  it('that a killed process was taking are swept at the next start', async () => {
    const keeper = NamespaceKeeper.find(pathsOf(target.dataDir))!;
    for (const folder of ['c', 'l', 'agents'])
      mkdirSync(keeper.view(join(target.dataDir, 'store', folder, '.half')));
    await target.driver.reap({ instanceIds: [], checkpointIds: [checkpoint.id] });
    expect(drafts()).toEqual([]);
    expect((await target.driver.listCheckpoints()).map(({ id }) => id)).toEqual([checkpoint.id]);
  });
});
