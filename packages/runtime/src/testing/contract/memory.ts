import { beforeEach, describe, expect, it } from 'vitest';
import { DriverError } from '../../contract/errors.js';
import { countReaches, readCount, startCounting } from '../programs.js';
import { requireCapability } from '../require-capability.js';
import type { Workbench } from '../workbench.js';

export function memoryContract(bench: Workbench): void {
  describe('checkpoints of memory', () => {
    beforeEach((context) => requireCapability(context, bench, 'memorySnapshot'));

    it('continue where the source was, in two copies on their own, while the source continues', async () => {
      const { instance, client } = await bench.create();
      await startCounting(client);
      const before = await readCount(client);
      const checkpoint = await instance.checkpoint({ checkpointId: 'warm', memory: true, then: 'continue' });
      expect(checkpoint.memory).toBe(true);
      await countReaches(client, before + 20);
      const copies = await Promise.all([bench.restore('warm', true), bench.restore('warm', true)]);
      for (const copy of copies) {
        const start = await readCount(copy.client);
        expect(start).toBeGreaterThanOrEqual(before);
        await countReaches(copy.client, start + 5);
      }
      await copies[0]!.client.output('echo only here > mine');
      expect((await copies[1]!.client.run('cat mine')).exitCode).not.toBe(0);
      await countReaches(client, (await readCount(client)) + 5);
    });

    it('are restored after the source was destroyed and the driver was closed', async () => {
      const { instance, client } = await bench.create();
      await startCounting(client);
      const before = await readCount(client);
      await instance.checkpoint({ checkpointId: 'asleep', memory: true, then: 'destroy' });
      expect(await bench.driver.list()).toEqual([]);
      await bench.reopen();
      const copy = await bench.restore('asleep', true, instance.id);
      const after = await readCount(copy.client);
      expect(after).toBeGreaterThanOrEqual(before);
      await countReaches(copy.client, after + 5);
    });

    it('are booted afresh on their files when memory is not wanted', async () => {
      const { instance, client } = await bench.create();
      await startCounting(client);
      await instance.checkpoint({ checkpointId: 'both', memory: true, then: 'destroy' });
      const copy = await bench.restore('both', false);
      const count = await readCount(copy.client);
      expect(count).toBeGreaterThan(0);
      expect(await copy.client.output('cat count')).toBe(String(count));
    });
  });

  it('refuses to store or restore memory when it cannot, and the instance runs on', async (context) => {
    if (bench.driver.capabilities.memorySnapshot) context.skip('the driver can');
    const { instance, client } = await bench.create();
    const taken = await instance
      .checkpoint({ checkpointId: 'never', memory: true, then: 'destroy' })
      .catch((error: unknown) => error);
    expect(DriverError.is(taken) && taken.code).toBe('unsupported');
    expect(await client.health()).toBe(204);
    await instance.checkpoint({ checkpointId: 'cold', memory: false, then: 'continue' });
    const restored = await bench.restore('cold', true).catch((error: unknown) => error);
    expect(DriverError.is(restored) && restored.code).toBe('unsupported');
  });
}
