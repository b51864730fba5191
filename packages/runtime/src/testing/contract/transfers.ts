import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from 'vitest';
import { countReaches, readCount, startCounting } from '../programs.js';
import { requireCapability } from '../require-capability.js';
import type { Workbench } from '../workbench.js';

export function transferContract(bench: Workbench): void {
  describe('checkpoints that are sent to another host', () => {
    beforeEach((context) => {
      requireCapability(context, bench, 'memorySnapshot');
      if (bench.driver.transfers === undefined) context.skip('what the driver stores cannot leave it');
    });

    it('continue with their memory at the destination, also when they were made for copies at once', async () => {
      const transfers = bench.driver.transfers!;
      const { instance, client } = await bench.create();
      await startCounting(client);
      const before = await readCount(client);
      const object = { kind: 'checkpoint', id: 'sent' } as const;
      await instance.checkpoint({ checkpointId: 'sent', memory: true, then: 'continue', brief: true });
      expect(await transfers.has(object)).toBe(true);
      // Several hosts ask at the same time, while copies start here.
      const [described, archive, again, here] = await Promise.all([
        transfers.describe(object),
        transfers.export(object).then(buffer),
        transfers.export(object, { offset: 1_000 }).then(buffer),
        bench.restore('sent', true),
      ]);
      expect(described).toMatchObject({ ...object, memory: true });
      expect(again.equals(archive.subarray(1_000))).toBe(true);
      await countReaches(here.client, before + 1);
      await bench.driver.deleteCheckpoint('sent');
      expect(await transfers.has(object)).toBe(false);
      await transfers.import(object, Readable.from([archive]));
      const there = await bench.restore('sent', true);
      const start = await readCount(there.client);
      expect(start).toBeGreaterThanOrEqual(before);
      await countReaches(there.client, start + 5);
    });
  });
}
