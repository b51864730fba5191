import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { openStoreBackup } from '../../src/backup/store-backup.js';
import { entryKinds, type StoreEntry } from '../../src/backup/store-entry.js';
import { openStoreRestore, unpackTree } from '../../src/backup/store-restore.js';
import { createLinuxDriver } from '../../src/linux-driver/create-linux-driver.js';
import { NamespaceKeeper } from '../../src/linux-driver/namespace/namespace-keeper.js';
import { pathsOf } from '../../src/linux-driver/state/paths.js';
import { DaemonClient } from '../../src/testing/daemon-client.js';
import { findLeaks } from '../../src/testing/leaks.js';
import { type TarTestEntry, tarOf, tarOfEntries } from '../../src/testing/tar.js';
import { Workbench } from '../../src/testing/workbench.js';
import { envdProgram } from '../support/envd-program.js';
import { linuxSkipReason, memorySkipReason } from '../support/linux-host.js';

const skip = linuxSkipReason();
const noMemory = memorySkipReason();

/** Files of all kinds that an overlay keeps, and what a copy must not lose of them. */
const MAKE = `
set -e
mkdir -p /opt/kept/sub; cd /opt/kept
echo text >file; ln file hard; ln -s file soft; mkfifo pipe; chmod 4711 file
truncate -s 50M holes; echo end >>holes
touch -d '2001-02-03 04:05:06.789012345' old; chown 1000:1234 old
python3 -c 'import os; os.setxattr("file", "user.note", b"kept")'
rm -r /etc/profile.d; mkdir /etc/profile.d; rm /etc/shells`;

const LOOK = `
cd /opt/kept; find . ! -type d -printf '%P %y %m %U %G %s %n %l %T@\\n' | sort; stat -c %b holes
python3 -c 'import os; print(os.getxattr("file", "user.note"))'
test hard -ef file && echo linked; ls -A /etc/profile.d; test -e /etc/shells || echo removed; cat /opt/of-layer`;

const stores = [
  { store: 'btrfs', storeSizeMiB: undefined },
  { store: 'plain directories', storeSizeMiB: 0 },
].slice(0, process.env.SVC_HEAVY === '1' ? 2 : 1);

describe.skipIf(skip !== undefined).each(stores)(
  'a backup of a store of $store',
  ({ store, storeSizeMiB }) => {
    const size = storeSizeMiB === undefined ? {} : { storeSizeMiB };
    const benchOn = () =>
      new Workbench(({ dataDir }) =>
        createLinuxDriver({ dataDir, daemon: envdProgram, baseRoot: 'host', ...size }),
      );
    const bench = benchOn();
    const otherPlace = mkdtempSync(join(tmpdir(), 'restored-'));
    afterAll(async () => {
      await bench.close();
      await bench.remove();
      rmSync(otherPlace, { recursive: true, force: true });
    });
    const copiesIn = () => {
      const keeper = NamespaceKeeper.find(pathsOf(bench.dataDir))!;
      return ['c', 'l', 'v'].flatMap((folder) => {
        const directory = keeper.view(join(bench.dataDir, 'store', folder));
        return existsSync(directory) ? readdirSync(directory).filter((name) => name.includes('backup')) : [];
      });
    };
    const withMemory = noMemory === undefined;

    it('is made beside the driver, contains entries that are deleted meanwhile, and makes a store that continues', async () => {
      await bench.open();
      const { driver } = bench;
      const layer = await driver.layers.importTar(tarOf({ 'opt/of-layer': 'from the layer\n' }));
      await driver.volumes.make('vol', {});
      const { instance, client } = await bench.create({
        layers: [layer.id],
        mounts: [{ volumeId: 'vol', target: '/vol', readOnly: false }],
      });
      expect(await client.run(MAKE, 'root')).toMatchObject({ exitCode: 0 });
      const looks = (await client.run(LOOK, 'root')).stdout;
      expect(looks).toContain('removed');
      await client.run('echo in the volume >/vol/file; chmod 600 /vol/file');
      await client.start(
        'n=0; while :; do n=$((n+1)); echo $n >/tmp/count.new; mv /tmp/count.new /tmp/count; sleep 0.1; done',
      );
      const count = (of: typeof client) => of.run('cat /tmp/count').then(({ stdout }) => Number(stdout));
      await eventually('the program to count', async () => (await count(client)) > 0);
      await instance.checkpoint({ checkpointId: 'kept', memory: withMemory, then: 'destroy' });

      const backup = await openStoreBackup({ dataDir: bench.dataDir });
      await backup.stage();
      await driver.deleteCheckpoint('kept');
      // Volumes of plain directories are read where they are.
      if (store === 'btrfs') await driver.volumes.delete('vol');
      await backup.stage();
      const entries = backup.entries({ bases: true });
      expect(entries.map(({ kind }) => kind).sort()).toEqual(['agent', 'checkpoint', 'layer', 'volume']);
      const packed = new Map<StoreEntry, Buffer>();
      for (const entry of entries) {
        const { tar, done } = backup.pack(entry);
        packed.set(entry, await buffer(tar));
        await done;
      }
      expect(copiesIn().length).toBeGreaterThan(0);
      await backup.close();
      expect(copiesIn()).toEqual([]);

      const draft = join(otherPlace, 'draft');
      const dataDir = join(otherPlace, 'driver');
      mkdirSync(draft);
      const restore = await openStoreRestore({ draft, dataDir, ...size });
      const ordered = [...packed].sort(([a], [b]) => entryKinds.indexOf(a.kind) - entryKinds.indexOf(b.kind));
      for (const [entry, tar] of ordered) await restore.unpack(entry, Readable.from([tar]));
      await restore.close();
      expect(findLeaks(draft)).toEqual([]);
      renameSync(draft, dataDir);

      const restored = await createLinuxDriver({ dataDir, daemon: envdProgram, baseRoot: 'host', ...size });
      try {
        const there = await restored.restore({
          id: 'goeson',
          checkpointId: 'kept',
          memory: withMemory,
          spec: bench.spec({
            mounts: [{ volumeId: 'vol', target: '/vol', readOnly: false }],
          }),
        });
        const inside = new DaemonClient(there);
        expect((await inside.run(LOOK, 'root')).stdout).toBe(looks);
        expect((await inside.run('cat /vol/file')).stdout).toBe('in the volume\n');
        if (withMemory) {
          const before = await count(inside);
          await eventually('the program to continue', async () => (await count(inside)) > before);
        }
        // Files of the layer and of what was written above it are still distinct.
        const duplicates = `find /opt /etc -xdev -type f -printf '%i %n %p\\n' | awk '$2 == 1 { print $1 }' | sort | uniq -d`;
        expect((await inside.run(duplicates, 'root')).stdout).toBe('');
      } finally {
        await restored.close({ destroyInstances: true });
      }
    });

    it('that was killed leaves nothing that the next driver does not remove', async () => {
      const { driver } = bench;
      await driver.volumes.make('other', {});
      const { instance } = await bench.create();
      await instance.checkpoint({ checkpointId: 'held', memory: false, then: 'destroy' });
      const killed = await openStoreBackup({ dataDir: bench.dataDir });
      await killed.stage();
      expect(copiesIn().length).toBeGreaterThan(0);
      const again = await bench.reopen();
      await again.reap({ instanceIds: [], checkpointIds: ['held'] });
      // Lists do not show entries that only a backup keeps, either.
      expect((await again.listCheckpoints()).map(({ id }) => id)).toEqual(['held']);
      expect(await again.volumes.list()).toEqual(store === 'btrfs' ? ['other'] : ['other', 'vol']);
      await eventually('the copies to be removed', () => copiesIn().length === 0);
    });

    it('keeps a driver from starting where none runs, and unmounts the store again', async () => {
      await bench.close();
      const backup = await openStoreBackup({ dataDir: bench.dataDir });
      await expect(bench.open()).rejects.toMatchObject({ code: 'busy' });
      await backup.stage();
      expect(backup.entries({ bases: true })).toContainEqual({ kind: 'volume', id: 'other' });
      await backup.close();
      expect(findLeaks(bench.dataDir)).toEqual([]);
      await bench.open();
    });
  },
);

describe.skipIf(skip !== undefined)('what is unpacked of a backup', () => {
  it('stays in its directory, regardless of the archive', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'unpacked-'));
    const into = join(directory, 'into');
    mkdirSync(into);
    try {
      const archives: TarTestEntry[][] = [
        [{ name: '../outside', content: 'x' }],
        [{ name: `${directory}/outside`, content: 'x' }],
        [
          { name: 'way', type: 'symlink', linkname: directory },
          { name: 'way/outside', content: 'x' },
        ],
        [{ name: 'hard', type: 'link', linkname: '/etc/shadow' }],
        [
          { name: 'up', type: 'symlink', linkname: '../..' },
          { name: 'up/outside', content: 'x' },
        ],
      ];
      for (const [at, entries] of archives.entries()) {
        const target = join(into, String(at));
        mkdirSync(target);
        await unpackTree(target, tarOfEntries(entries)).catch(() => undefined);
        expect(readdirSync(directory)).toEqual(['into']);
        expect(existsSync(join(target, 'etc/shadow'))).toBe(false);
      }
      await expect(
        unpackTree(into, Readable.from(['no archive at all, '.repeat(100)])),
      ).rejects.toMatchObject({
        code: 'invalid_archive',
      });
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
