import { describe, expect, it } from 'vitest';
import { tarOf } from '../tar.js';
import type { Workbench } from '../workbench.js';

export function poolContract(bench: Workbench): void {
  describe('the pool', () => {
    it('gives instances that are like any other, and shows none before', async () => {
      bench.driver.setPool([{ spec: bench.spec(), size: 2 }]);
      await bench.driver.poolReady();
      expect(await bench.driver.list()).toEqual([]);
      const before = await bench.driver.poolState();
      expect(before.waiting).toBe(2);
      const made = await Promise.all([1, 2, 3].map((n) => bench.create({ labels: { n: String(n) } })));
      for (const { client } of made) expect(await client.output('echo fine')).toBe('fine');
      const labels = (await bench.driver.list()).map((record) => record.labels.n).sort();
      expect(labels).toEqual(['1', '2', '3']);
      // The third may have come when the pool was full again, or not.
      expect((await bench.driver.poolState()).hits - before.hits).toBeGreaterThanOrEqual(2);
    });

    it('gives nobody an instance of other layers', async () => {
      const layer = await bench.driver.layers.importTar(tarOf({ 'greeting.txt': 'hello' }));
      bench.driver.setPool([{ spec: bench.spec({ layers: [layer.id] }), size: 1 }]);
      await bench.driver.poolReady();
      const at = bench.driver.capabilities.layers === 'home' ? '' : '/';
      const plain = await bench.create();
      expect((await plain.client.run(`cat ${at}greeting.txt`)).exitCode).not.toBe(0);
      const layered = await bench.create({ layers: [layer.id] });
      expect(await layered.client.output(`cat ${at}greeting.txt`)).toBe('hello');
    });

    it('survives neither its driver nor a desired size of nothing', async () => {
      bench.driver.setPool([{ spec: bench.spec(), size: 2 }]);
      await bench.driver.poolReady();
      await bench.reopen();
      expect(await bench.driver.list()).toEqual([]);
      expect(await bench.driver.reap({ instanceIds: [], checkpointIds: [] })).toEqual([]);
    });

    it('gives what can be adopted later', async () => {
      bench.driver.setPool([{ spec: bench.spec(), size: 1 }]);
      await bench.driver.poolReady();
      const { instance, client } = await bench.create({ labels: { from: 'pool' } });
      await client.output('echo mine > note');
      const driver = await bench.reopen();
      const adopted = await driver.adopt(instance.id);
      expect(adopted?.labels).toEqual({ from: 'pool' });
    });
  });
}
