import { describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { readTicks, startTicking } from '../programs.js';
import type { Workbench } from '../workbench.js';

const FROZEN_MS = 400;

export function freezeContract(bench: Workbench): void {
  describe('freeze and thaw', () => {
    it('stop every program where it is and resume it', async () => {
      const { instance, client } = await bench.create();
      await startTicking(client);
      await instance.freeze();
      const fromMs = Date.now();
      await expect(client.health(AbortSignal.timeout(FROZEN_MS))).rejects.toThrow();
      const toMs = Date.now();
      await instance.thaw();
      const ticks = await eventually('a tick after the thaw', async () => {
        const seen = await readTicks(client);
        return seen.some((tick) => tick >= toMs) ? seen : undefined;
      });
      expect(ticks.filter((tick) => tick > fromMs && tick < toMs - 5)).toEqual([]);
      expect(ticks.filter((tick) => tick <= fromMs).length).toBeGreaterThan(0);
    });

    it('show in the list, and may be repeated', async () => {
      const { instance, client } = await bench.create();
      const state = async () => (await bench.driver.list()).find(({ id }) => id === instance.id)?.state;
      await instance.thaw();
      await instance.freeze();
      await instance.freeze();
      expect(await state()).toBe('frozen');
      await instance.thaw();
      await instance.thaw();
      expect(await state()).toBe('running');
      expect(await client.health()).toBe(204);
    });

    it('run one after another when several callers ask at once', async () => {
      const { instance, client } = await bench.create();
      await Promise.all([instance.freeze(), instance.thaw(), instance.freeze(), instance.thaw()]);
      expect(await client.health()).toBe(204);
    });

    it('keep connections open', async () => {
      const { instance, client } = await bench.create();
      const running = await client.start('echo ready; sleep 1; echo done');
      await eventually('the first line', () => running.stdout().includes('ready'));
      await instance.freeze();
      await instance.thaw();
      const { stdout } = await running.result;
      expect(stdout).toBe('ready\ndone\n');
    });

    it('let a frozen instance be destroyed', async () => {
      const { instance, client } = await bench.create();
      await startTicking(client);
      await instance.freeze();
      await instance.destroy();
      expect(await bench.driver.list()).toEqual([]);
    });
  });
}
