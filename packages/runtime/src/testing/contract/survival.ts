import { describe, expect, it } from 'vitest';
import { DriverError } from '../../contract/errors.js';
import { DaemonClient } from '../daemon-client.js';
import { countReaches, readCount, startCounting } from '../programs.js';
import type { Workbench } from '../workbench.js';

export function survivalContract(bench: Workbench): void {
  describe('a driver that is opened again', () => {
    it('adopts an instance whose programs never noticed', async () => {
      const { instance, client } = await bench.create({ labels: { keep: 'yes' } });
      await startCounting(client);
      const before = await readCount(client);
      const driver = await bench.reopen();
      expect(await driver.list()).toMatchObject([
        { id: instance.id, state: 'running', labels: { keep: 'yes' } },
      ]);
      const adopted = await driver.adopt(instance.id);
      expect(adopted?.labels).toEqual({ keep: 'yes' });
      await countReaches(new DaemonClient(adopted!), before + 5);
      await adopted!.destroy();
      expect(await adopted!.ended).toEqual({ reason: 'destroyed' });
      expect(await driver.list()).toEqual([]);
    });

    it('gives the same instance to everybody who adopts it', async () => {
      const { instance } = await bench.create();
      const driver = await bench.reopen();
      const [one, two] = await Promise.all([driver.adopt(instance.id), driver.adopt(instance.id)]);
      expect(one).toBeDefined();
      expect(one).toBe(two);
    });

    it('finds a frozen instance frozen and can thaw it', async () => {
      const { instance } = await bench.create();
      await instance.freeze();
      const driver = await bench.reopen();
      expect((await driver.list())[0]?.state).toBe('frozen');
      const adopted = await driver.adopt(instance.id);
      await adopted!.thaw();
      expect(await new DaemonClient(adopted!).health()).toBe(204);
    });

    it('hears of the end of an adopted instance', async () => {
      const { instance } = await bench.create();
      const driver = await bench.reopen();
      const adopted = await driver.adopt(instance.id);
      new DaemonClient(adopted!).run('kill -TERM $PPID', 'root').catch(() => undefined);
      expect((await adopted!.ended).reason).toBe('exited');
      expect(await driver.adopt(instance.id)).toBeUndefined();
    });

    it('reaps what nobody claims, keeps what is claimed, and says so', async () => {
      const kept = await bench.create();
      const lost = await bench.create();
      await lost.client.start('sleep 1000');
      await kept.instance.checkpoint({ checkpointId: 'kept', memory: false, then: 'continue' });
      await kept.instance.checkpoint({ checkpointId: 'lost', memory: false, then: 'continue' });
      const driver = await bench.reopen();
      const removed = await driver.reap({ instanceIds: [kept.instance.id], checkpointIds: ['kept'] });
      expect(removed.length).toBeGreaterThanOrEqual(2);
      expect((await driver.list()).map(({ id }) => id)).toEqual([kept.instance.id]);
      expect((await driver.listCheckpoints()).map(({ id }) => id)).toEqual(['kept']);
      const adopted = await driver.adopt(kept.instance.id);
      expect(await new DaemonClient(adopted!).health()).toBe(204);
      expect(await driver.reap({ instanceIds: [kept.instance.id], checkpointIds: ['kept'] })).toEqual([]);
    });

    it('has the data directory for itself', async () => {
      const error = await bench.openSecond().catch((reason: unknown) => reason);
      expect(DriverError.is(error) && error.code).toBe('busy');
    });
  });
}
