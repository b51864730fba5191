import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { DriverError } from '../../src/contract/errors.js';
import { createLinuxDriver } from '../../src/linux-driver/create-linux-driver.js';
import { pathsOf } from '../../src/linux-driver/state/paths.js';
import { Workbench } from '../../src/testing/workbench.js';
import { envdProgram } from '../support/envd-program.js';
import { linuxSkipReason, memorySkipReason } from '../support/linux-host.js';

const skip = linuxSkipReason();
const noMemory = memorySkipReason();
const MIB = 2 ** 20;
const HOST_MIB = 1_600;
const RESERVE_MIB = 400;
/** A careful program writes, and waits until the data is on the disk. */
const DURABLE_WRITE = 'dd if=/dev/urandom of=/tmp/mine bs=1M count=4 conv=fsync 2>&1 && echo durable';
const FILL_DISK = 'i=0; while head -c 16M /dev/urandom > /tmp/fill$i; do i=$((i+1)); done; sync';

/** A small file system that stands for the host's, on which the service's database would be. */
describe.skipIf(skip !== undefined)('hostile programs that fill every disk they find', () => {
  const folder = mkdtempSync(join(tmpdir(), 'small-host-'));
  const mountPoint = join(folder, 'fs');
  let mounted = false;
  const bench = new Workbench(
    ({ dataDir }) =>
      createLinuxDriver({ dataDir, daemon: envdProgram, storeSizeMiB: 1_500, reserveMiB: RESERVE_MIB }),
    mountPoint,
  );
  beforeAll(async () => {
    const image = join(folder, 'image');
    execFileSync('sh', [
      '-ec',
      'truncate -s "$2M" "$1"; mkfs.ext4 -q -m 0 "$1"; mkdir "$3"; mount -o loop "$1" "$3"',
      'sh',
      image,
      `${HOST_MIB}`,
      mountPoint,
    ]);
    mounted = true;
    await bench.open();
  });
  afterEach(() => bench.sweep());
  afterAll(async () => {
    await bench.close();
    if (mounted) execFileSync('umount', [mountPoint]);
    rmSync(folder, { recursive: true, force: true });
  });

  const hostFreeMiB = () => {
    const stats = statfsSync(mountPoint);
    return (stats.bavail * stats.bsize) / MIB;
  };

  it('cannot fill the file system of the service, whose reserve stays free', async () => {
    const { client } = await bench.create();
    const { exitCode, stderr } = await client.run(FILL_DISK);
    expect(`${exitCode} ${stderr}`).toMatch(/No space left/);
    expect(hostFreeMiB()).toBeGreaterThan(RESERVE_MIB - 100);
    const use = await bench.driver.storage!();
    expect(use.hostFreeBytes).toBeGreaterThan((RESERVE_MIB - 100) * MIB);
    // Nothing new is begun, and the message says why.
    // Data that was in memory when the disk was full takes its room a moment later, so there may be some to fill again.
    await eventually(
      'creates to be refused',
      async () => {
        const error = await bench.create().then(
          async ({ instance }) => void (await instance.destroy()),
          (reason: unknown) => reason,
        );
        if (DriverError.is(error) && error.code === 'storage_full') return true;
        await client.run(FILL_DISK);
        return false;
      },
      90_000,
    );
    // Freed space can be written again.
    await client.output('rm -f /tmp/fill*; sync');
    await eventually(
      'there to be room again',
      async () => {
        // A try that fails takes what room there is, and gives it back only with the next commit: not one right after another.
        if ((await bench.driver.storage!()).storeFreeBytes < 400 * MIB) return false;
        return (await client.run('head -c 300M /dev/urandom > /tmp/again && sync /tmp/again')).exitCode === 0;
      },
      90_000,
    );
  }, 240_000);

  it('leave room for a sandbox that is made as soon as they are deleted', async () => {
    const { client, instance } = await bench.create();
    await client.run(FILL_DISK);
    await instance.destroy();
    const next = await bench.create();
    expect(await next.client.output('echo made')).toBe('made');
  }, 120_000);

  it('cannot keep a neighbour from writing, whichever of their own disks they fill', async () => {
    await bench.driver.volumes.make('hostile', { limitMiB: 64 });
    const hostile = await bench.create({
      limits: { memoryMiB: 256, diskMiB: 100, pids: 100 },
      mounts: [{ volumeId: 'hostile', target: '/data' }],
    });
    const neighbour = await bench.create({ limits: { memoryMiB: 256, diskMiB: 100, pids: 100 } });
    for (const target of ['/tmp/fill', '/data/fill', '/dev/shm/fill', '/data/many']) {
      const fill =
        target === '/data/many'
          ? 'mkdir -p /data/many; i=0; while head -c 70000 /dev/zero > /data/many/$i; do i=$((i+1)); done'
          : `cat /dev/zero > ${target}; sync ${target}`;
      expect((await hostile.client.run(`(${fill}) 2>&1`)).stdout, target).toMatch(/No space|quota/i);
      expect((await neighbour.client.run(DURABLE_WRITE)).stdout, target).toMatch(/durable$/m);
    }
    // A subvolume of its own would have no limit.
    expect(
      (await hostile.client.run('rm -rf /data/*; btrfs subvolume create /data/more', 'root')).exitCode,
    ).not.toBe(0);
    expect(await bench.driver.volumes.usedBytes('hostile')).toBeLessThanOrEqual(65 * MIB);
    expect(await hostile.client.output('grep " /data " /proc/self/mountinfo')).not.toContain(bench.dataDir);
  }, 120_000);

  it('get room back in a volume for what they delete', async () => {
    await bench.driver.volumes.make('reused', { limitMiB: 32 });
    const { client } = await bench.create({ mounts: [{ volumeId: 'reused', target: '/data' }] });
    await client.run('cat /dev/zero > /data/fill; sync');
    await client.run('rm /data/fill; sync');
    await eventually(
      'room in the volume',
      async () => (await client.run('head -c 20M /dev/urandom > /data/new && sync /data/new')).exitCode === 0,
    );
  });

  it('cannot keep a volume that they filled to the brim from getting another limit', async () => {
    const { volumes } = bench.driver;
    await volumes.make('brim', { limitMiB: 16 });
    const { client } = await bench.create({ mounts: [{ volumeId: 'brim', target: '/data' }] });
    await client.run(
      'cat /dev/zero > /data/fill; sync; i=0; while touch /data/$i; do i=$((i+1)); done; sync',
    );
    for (const limitMiB of [8, 16, 32]) await volumes.make('brim', { limitMiB });
    // The store itself may be short of room for a moment that sandboxes of before have yet to give back.
    await eventually(
      'room in the volume',
      async () => (await client.run('head -c 8M /dev/zero > /data/more && sync /data/more')).exitCode === 0,
    );
  });

  it('cannot keep a deleted volume, nor what it takes, by using it', async () => {
    const volumes = bench.driver.volumes;
    await volumes.make('deleted', { limitMiB: 64 });
    const { client } = await bench.create({ mounts: [{ volumeId: 'deleted', target: '/data' }] });
    const using = await client.start(
      'i=0; while :; do i=$((i+1)); mkdir -p /data/a/$i; echo x > /data/a/$i/f; [ $i != 9 ] || echo ready; done 2>/dev/null',
    );
    await eventually('the volume to be in use', () => using.stdout() !== '');
    await volumes.delete('deleted');
    await volumes.delete('deleted');
    expect(await volumes.list()).not.toContain('deleted');
    await eventually('the volume to be deleted', async () =>
      volumesOf(bench.dataDir).every((name) => !name.startsWith('.')),
    );
    expect(await client.output('echo alive')).toBe('alive');
  });

  it('cannot have the room of what they delete kept by the file that guards the reserve', async () => {
    const { store } = pathsOf(bench.dataDir);
    // As when the guard looks between the end of a program that filled the disk and the next trim.
    const script = `cd ${store}; rm -f reserve; sync -f .; head -c 900M /dev/zero >filled; sync -f .; rm filled; sync -f .; fallocate -l 1100M reserve`;
    const { pid } = keeperOf(bench.dataDir);
    execFileSync('nsenter', [`--target=${pid}`, '--mount', 'sh', '-ec', script], { timeout: 60_000 });
    await eventually('the host to have its room again', () => hostFreeMiB() > HOST_MIB - 400, 60_000);
    // The file was made larger than the guard would have made it, so room to describe files may be short for a moment.
    await eventually('room for a sandbox', () => bench.create(), 60_000);
  }, 180_000);

  it.skipIf(noMemory !== undefined)(
    'keep their volume over pause and resume with memory',
    async () => {
      await bench.driver.volumes.make('kept', { limitMiB: 32 });
      const mounts = [{ volumeId: 'kept', target: '/data' }];
      const { instance, client } = await bench.create({ mounts });
      await client.start('exec 3>>/data/log; while sleep 0.1; do echo alive >&3; done');
      await eventually(
        'the program to write',
        async () => (await client.run('test -s /data/log')).exitCode === 0,
      );
      await instance.checkpoint({ checkpointId: 'with-volume', memory: true, then: 'destroy' });
      const copy = await bench.driver.restore({
        id: 'copy',
        checkpointId: 'with-volume',
        memory: true,
        spec: bench.spec({ mounts }),
      });
      const { DaemonClient } = await import('../../src/testing/daemon-client.js');
      const there = new DaemonClient(copy);
      const before = Number(await there.output('wc -l < /data/log'));
      await eventually(
        'it to continue',
        async () => Number(await there.output('wc -l < /data/log')) > before,
      );
    },
    60_000,
  );
});

/** Names in the store, those that are about to be removed among them. */
function volumesOf(dataDir: string): string[] {
  const { store } = pathsOf(dataDir);
  return readdirSync(`/proc/${keeperOf(dataDir).pid}/root${store}/v`);
}

/** The process that holds the driver's namespace. */
const keeperOf = (dataDir: string) =>
  JSON.parse(readFileSync(pathsOf(dataDir).keeperFile, 'utf8')) as { pid: number };
