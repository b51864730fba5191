import { describe, expect, it } from 'vitest';
import type { Workbench } from '../workbench.js';

export function checkpointContract(bench: Workbench): void {
  describe('checkpoints of the file system', () => {
    it('hold the files as they were, however the source changes', async () => {
      const { instance, client } = await bench.create();
      await client.output('echo before > note; ln -s note link; chmod 750 note');
      const checkpoint = await instance.checkpoint({
        checkpointId: 'files',
        memory: false,
        then: 'continue',
      });
      await client.output('echo after > note');
      expect(checkpoint).toMatchObject({ id: 'files', memory: false });
      expect(checkpoint.sizeBytes).toBeGreaterThan(0);
      expect(checkpoint.frozenMs).toBeGreaterThanOrEqual(0);
      const copy = await bench.restore('files', false);
      expect(await copy.client.output('cat link; ls -l note | cut -c1-10')).toBe('before\n-rwxr-x---');
      expect(await client.output('cat note')).toBe('after');
    });

    it('are restored side by side, each copy on its own', async () => {
      const { instance, client } = await bench.create();
      await client.output('echo shared > note');
      await instance.checkpoint({ checkpointId: 'twice', memory: false, then: 'continue' });
      const [one, two] = await Promise.all([bench.restore('twice', false), bench.restore('twice', false)]);
      await one.client.output('echo one > note');
      expect(await two.client.output('cat note')).toBe('shared');
    });

    it('outlive their source, which ends with `then: destroy`', async () => {
      const { instance, client } = await bench.create();
      await client.output('echo kept > note');
      await instance.checkpoint({ checkpointId: 'outlives', memory: false, then: 'destroy' });
      expect(await instance.ended).toEqual({ reason: 'destroyed' });
      expect(await bench.driver.list()).toEqual([]);
      await bench.reopen();
      const copy = await bench.restore('outlives', false);
      expect(await copy.client.output('cat note')).toBe('kept');
    });

    it('are taken of a frozen instance too, which stays frozen', async () => {
      const { instance, client } = await bench.create();
      await client.output('echo cold > note');
      await instance.freeze();
      await instance.checkpoint({ checkpointId: 'cold', memory: false, then: 'continue' });
      expect((await bench.driver.list())[0]?.state).toBe('frozen');
      const copy = await bench.restore('cold', false);
      expect(await copy.client.output('cat note')).toBe('cold');
      await instance.thaw();
      expect(await client.health()).toBe(204);
    });

    it('are listed until they are deleted, as often as one asks', async () => {
      const { instance } = await bench.create();
      await instance.checkpoint({ checkpointId: 'listed', memory: false, then: 'continue' });
      const listed = await bench.driver.listCheckpoints();
      expect(listed).toMatchObject([{ id: 'listed', memory: false }]);
      await bench.driver.deleteCheckpoint('listed');
      await bench.driver.deleteCheckpoint('listed');
      expect(await bench.driver.listCheckpoints()).toEqual([]);
    });
  });
}
