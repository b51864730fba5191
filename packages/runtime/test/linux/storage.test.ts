import { open } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { DriverError } from '../../src/contract/errors.js';
import { NamespaceKeeper } from '../../src/linux-driver/namespace/namespace-keeper.js';
import { pathsOf } from '../../src/linux-driver/state/paths.js';
import { runProgram } from '../../src/shared/run-program.js';
import { linuxBench } from '../support/linux-bench.js';
import { memorySkipReason } from '../support/linux-host.js';

const skip = memorySkipReason();
const MIB = 2 ** 20;
/** Where btrfs begins. */
const SUPERBLOCK_BYTE = 64 * 1024;

describe.skipIf(skip !== undefined)('the store of linux instances', () => {
  const bench = linuxBench({ storeSizeMiB: 700 });

  /** Bytes that the whole store uses, once everything is written down. */
  async function usedBytes(): Promise<number> {
    const paths = pathsOf(bench.dataDir);
    const keeper = NamespaceKeeper.find(paths)!;
    const script = `sync -f ${paths.store}; command -v btrfs >/dev/null && btrfs subvolume sync ${paths.store} >/dev/null 2>&1; df -B1 --output=used ${paths.store} | tail -n 1`;
    const { stdout } = await runProgram(
      'nsenter',
      [`--target=${keeper.pid}`, '--mount', 'sh', '-c', script],
      {
        timeoutMs: 60_000,
      },
    );
    return Number(stdout.trim());
  }

  it('counts what a checkpoint holds, and gets it back when the checkpoint goes', async () => {
    const { instance, client } = await bench.create();
    // 60 MiB of files, and 10 of memory.
    await client.output('head -c 60M /dev/urandom > /tmp/data; head -c 10M /dev/urandom > /dev/shm/data');
    const first = await instance.checkpoint({ checkpointId: 'first', memory: true, then: 'continue' });
    const second = await instance.checkpoint({ checkpointId: 'second', memory: false, then: 'destroy' });
    expect(first.sizeBytes).toBeGreaterThan(62 * MIB);
    expect(first.sizeBytes).toBeLessThan(160 * MIB);
    expect(second.sizeBytes).toBeGreaterThan(59 * MIB);
    expect(second.sizeBytes).toBeLessThan(75 * MIB);
    const held = await usedBytes();
    // Both stand on the same 60 MiB: they leave with the last of them.
    await bench.driver.deleteCheckpoint('first');
    expect(await bench.driver.listCheckpoints()).toHaveLength(1);
    await eventually('the images to be freed', async () => (await usedBytes()) < held - 5 * MIB);
    const between = await usedBytes();
    await bench.driver.deleteCheckpoint('second');
    await eventually('the files to be freed', async () => (await usedBytes()) < between - 50 * MIB);
  }, 120_000);

  it('says that it is full, and damages nothing', async () => {
    const { instance, client } = await bench.create();
    await client.output('echo kept > /tmp/note');
    const filler = await client.run(
      'i=0; while head -c 8M /dev/urandom > /tmp/fill$i; do i=$((i+1)); done; sync; head -c 1M /dev/urandom > /tmp/rest',
    );
    expect(filler.exitCode).not.toBe(0);
    const holding = await client.start(
      `exec python3 -c 'import random, time; b = random.randbytes(150 << 20); open("/dev/shm/up", "w").write("1"); time.sleep(1000)'`,
    );
    const ended = holding.result.then(({ stderr }) =>
      Promise.reject(new Error(`The program ended: ${stderr}`)),
    );
    ended.catch(() => undefined);
    const filled = eventually(
      'the memory to be filled',
      async () => (await client.run('test -s /dev/shm/up')).exitCode === 0,
      100_000,
    );
    await Promise.race([filled, ended]);
    const error = await instance
      .checkpoint({ checkpointId: 'full', memory: true, then: 'continue' })
      .catch((reason: unknown) => reason);
    expect(DriverError.is(error) ? error.code : String(error)).toBe('storage_full');
    expect((error as DriverError).message).not.toContain(bench.dataDir);
    expect(await client.output('cat /tmp/note')).toBe('kept');
    expect(await bench.driver.listCheckpoints()).toEqual([]);
    // Programs share memory with each other regardless of the disk.
    await client.output('echo fine > /dev/shm/note; cat /dev/shm/note');
    await client.output('rm -f /tmp/fill* /tmp/rest; sync');
    await eventually('there to be room again', async () => {
      try {
        return await instance.checkpoint({ checkpointId: 'fits', memory: true, then: 'continue' });
      } catch (reason) {
        if (DriverError.is(reason) && reason.code === 'storage_full') return undefined;
        throw reason;
      }
    });
    const copy = await bench.restore('fits', true);
    expect(await copy.client.output('cat /tmp/note')).toBe('kept');
  }, 240_000);

  it('keeps an image that cannot be mounted, and refuses to start', async () => {
    const { instance } = await bench.create();
    await instance.checkpoint({ checkpointId: 'kept', memory: false, then: 'destroy' });
    await bench.driver.close();
    const image = await open(pathsOf(bench.dataDir).storeImage, 'r+');
    const superblock = Buffer.alloc(4096);
    try {
      await image.read(superblock, 0, superblock.length, SUPERBLOCK_BYTE);
      await image.write(Buffer.alloc(superblock.length), 0, superblock.length, SUPERBLOCK_BYTE);
      await expect(bench.open()).rejects.toMatchObject({ code: 'unsupported' });
    } finally {
      await image.write(superblock, 0, superblock.length, SUPERBLOCK_BYTE);
      await image.close();
    }
    await bench.open();
    expect(await bench.driver.listCheckpoints()).toMatchObject([{ id: 'kept' }]);
  });
});
