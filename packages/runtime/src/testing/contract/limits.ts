import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from 'vitest';
import { DriverError } from '../../contract/errors.js';
import { requireCapability } from '../require-capability.js';
import type { Workbench } from '../workbench.js';

const MIB = 1024 * 1024;

export function limitContract(bench: Workbench): void {
  describe('limits', () => {
    beforeEach((context) => requireCapability(context, bench, 'limits'));

    it('show in the statistics', async () => {
      const { instance } = await bench.create({ limits: { cpuCount: 0.5, memoryMiB: 256, pids: 128 } });
      const stats = await instance.stats();
      expect(stats.cpuCount).toBe(0.5);
      expect(stats.memoryLimitBytes).toBe(256 * MIB);
    });

    it('end a program that takes too much memory, not the host or the neighbours', async () => {
      const neighbour = await bench.create();
      const { instance, client } = await bench.create({ limits: { memoryMiB: 128 } });
      const bomb = client.run('exec perl -e \'$x .= "a" x 1048576 for 1..2000; print "alive"\'');
      const outcome = await Promise.race([
        bomb.then(
          ({ stdout }) => stdout,
          () => '',
        ),
        instance.ended.then(({ reason }) => reason),
      ]);
      expect(outcome).not.toContain('alive');
      expect(await neighbour.client.health()).toBe(204);
    });

    it('stop a fork bomb', async () => {
      const { instance, client } = await bench.create({ limits: { pids: 64 } });
      const { stdout } = await client.run(
        "exec perl -e '$n = 0; for (1..500) { $p = fork; last unless defined $p; if (!$p) { sleep 5; exit } $n++ } print $n'",
      );
      expect(Number(stdout)).toBeLessThan(64);
      expect((await instance.stats()).pids).toBeLessThanOrEqual(64);
    });
  });

  describe('the disk limit', () => {
    beforeEach((context) => requireCapability(context, bench, 'diskLimit'));

    it('refuses to write more than allowed and leaves the instance usable', async () => {
      const { client } = await bench.create({ limits: { diskMiB: 64 } });
      const { exitCode } = await client.run('dd if=/dev/urandom of=big bs=1M count=256 && sync');
      expect(exitCode).not.toBe(0);
      await client.run('rm -f big; sync');
      expect(await client.output('echo fine')).toBe('fine');
    });
  });

  describe('mounts', () => {
    it('show a volume inside, read-only when asked, and keep it when the instance ends', async (context) => {
      requireCapability(context, bench, 'mounts');
      const { volumes } = bench.driver;
      await volumes.make('shared');
      const content = volumes.content('shared');
      await content.write('/greeting', Readable.from(['hello']), {});
      const mounts = [
        { volumeId: 'shared', target: '/mnt/shared' },
        { volumeId: 'shared', target: '/mnt/fixed', readOnly: true },
      ];
      const { instance, client } = await bench.create({ mounts });
      expect(await client.output('cat /mnt/shared/greeting')).toBe('hello');
      await client.run('echo back > /mnt/shared/answer', 'root');
      expect(await text((await content.read('/answer')).content)).toBe('back\n');
      expect((await client.run('echo no > /mnt/fixed/answer', 'root')).exitCode).not.toBe(0);
      await instance.destroy();
      expect((await content.list('/', 1)).map(({ name }) => name)).toEqual(['answer', 'greeting']);
      await volumes.delete('shared');
      expect(await volumes.list()).toEqual([]);
    });

    it('are refused for a volume that is not there', async (context) => {
      requireCapability(context, bench, 'mounts');
      const error = await bench
        .create({ mounts: [{ volumeId: 'missing', target: '/mnt/x' }] })
        .catch((e: unknown) => e);
      expect(DriverError.is(error) && error.code).toBe('invalid_spec');
    });

    it('are refused by a driver that cannot make them', async (context) => {
      if (bench.driver.capabilities.mounts) context.skip('the driver can mount');
      const error = await bench
        .create({ mounts: [{ volumeId: 'any', target: '/mnt/x' }] })
        .catch((e: unknown) => e);
      expect(DriverError.is(error) && error.code).toBe('unsupported');
    });
  });
}
