import { describe, expect, it } from 'vitest';
import { DriverError } from '../../contract/errors.js';
import { randomId } from '../../shared/instance-id.js';
import type { Workbench } from '../workbench.js';

export function lifecycleContract(bench: Workbench): void {
  describe('life of an instance', () => {
    it('is made with a daemon that answers', async () => {
      const { client } = await bench.create();
      expect(await client.health()).toBe(204);
    });

    it('runs a program and gives its output and exit code', async () => {
      const { client } = await bench.create();
      const result = await client.run('echo out; echo err >&2; exit 3');
      expect(result).toEqual({ stdout: 'out\n', stderr: 'err\n', exitCode: 3 });
    });

    it('is listed with its labels and the time it was made', async () => {
      const before = Date.now();
      const { instance } = await bench.create({ labels: { sandbox: 'one', team: 'blue' } });
      const records = await bench.driver.list();
      const record = records.find(({ id }) => id === instance.id);
      expect(record).toMatchObject({ state: 'running', labels: { sandbox: 'one', team: 'blue' } });
      expect(record!.createdAtMs).toBeGreaterThanOrEqual(before - 1000);
      expect(record!.createdAtMs).toBeLessThanOrEqual(Date.now() + 1000);
      expect(instance.labels).toEqual({ sandbox: 'one', team: 'blue' });
    });

    it('has files that other instances do not see', async () => {
      const [one, two] = await Promise.all([bench.create(), bench.create()]);
      await one.client.output('echo secret > note');
      expect((await two.client.run('cat note')).exitCode).not.toBe(0);
      expect(await one.client.output('cat note')).toBe('secret');
    });

    it('is measured although a program removed its home', async () => {
      const { instance, client } = await bench.create();
      await client.run('cd / && rm -rf -- "$HOME"');
      expect((await instance.stats()).memoryBytes).toBeGreaterThan(0);
    });

    it('reports its use', async () => {
      const { instance, client } = await bench.create();
      const before = await instance.stats();
      await client.output(
        'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; head -c 4194304 /dev/zero > big; sync',
      );
      const after = await instance.stats();
      expect(after.cpuUsageUs).toBeGreaterThan(before.cpuUsageUs);
      expect(after.memoryBytes).toBeGreaterThan(1024 * 1024);
      expect(after.memoryLimitBytes).toBeGreaterThanOrEqual(after.memoryBytes);
      expect(after.cpuCount).toBeGreaterThan(0);
      expect(after.pids).toBeGreaterThan(0);
      expect(after.diskLimitBytes).toBeGreaterThan(0);
    });

    it('ends with everything in it when it is destroyed, as often as one asks', async () => {
      const { instance, client } = await bench.create();
      await client.start('sleep 1000 & sleep 1000');
      await Promise.all([instance.destroy(), instance.destroy()]);
      await instance.destroy();
      expect(await instance.ended).toEqual({ reason: 'destroyed' });
      expect(await bench.driver.list()).toEqual([]);
      expect(await bench.driver.adopt(instance.id)).toBeUndefined();
    });

    it('refuses to be dialled, frozen or measured once it was destroyed', async () => {
      const { instance } = await bench.create();
      await instance.destroy();
      const calls: (() => Promise<unknown>)[] = [
        () => instance.dial(49983),
        () => instance.freeze(),
        () => instance.stats(),
      ];
      for (const call of calls) {
        const error = await call().catch((reason: unknown) => reason);
        expect(DriverError.is(error) && error.code).toBe('instance_gone');
      }
    });

    it('gives its id free for another one once it is destroyed', async () => {
      const id = randomId();
      const first = await bench.create({}, id);
      await first.client.output('echo old > note');
      await first.instance.destroy();
      const second = await bench.create({}, id);
      expect((await second.client.run('cat note')).exitCode).not.toBe(0);
    });

    it('reports when its daemon ended by itself', async () => {
      const { instance, client } = await bench.create();
      // The call fails with the daemon that carries it.
      client.run('kill -TERM $PPID', 'root').catch(() => undefined);
      const end = await instance.ended;
      expect(['exited', 'oom']).toContain(end.reason);
      expect((await bench.driver.list()).find(({ id }) => id === instance.id)?.state ?? 'dead').toBe('dead');
      await instance.destroy();
      expect(await bench.driver.list()).toEqual([]);
    });
  });
}
