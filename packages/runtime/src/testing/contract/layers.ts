import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { tarOf } from '../tar.js';
import type { Workbench } from '../workbench.js';
import { codeOf } from './code-of.js';

export function layerContract(bench: Workbench): void {
  /** Where a test's files lie: below the home directory, or at the root of the file system. */
  const place = () => (bench.driver.capabilities.layers === 'home' ? '' : '/');
  const importFiles = (files: Record<string, string>) => bench.driver.layers.importTar(tarOf(files));

  describe('layers', () => {
    it("put an archive's files into an instance", async () => {
      const layer = await importFiles({ 'greeting.txt': 'hello' });
      const { client } = await bench.create({ layers: [layer.id] });
      expect(await client.output(`cat ${place()}greeting.txt`)).toBe('hello');
      expect(await bench.driver.layers.list()).toContainEqual(layer);
      expect(layer.sizeBytes).toBeGreaterThan(0);
    });

    it('lie one over the other, the last on top', async () => {
      const low = await importFiles({ 'shared.txt': 'low', 'low.txt': 'low' });
      const high = await importFiles({ 'shared.txt': 'high' });
      const { client } = await bench.create({ layers: [low.id, high.id] });
      expect(await client.output(`cat ${place()}shared.txt ${place()}low.txt | tr -d '\\n'`)).toBe('highlow');
    });

    it('do not change when an instance on them writes', async () => {
      const layer = await importFiles({ 'greeting.txt': 'hello' });
      const one = await bench.create({ layers: [layer.id] });
      await one.client.run(`echo changed > ${place()}greeting.txt`, 'root');
      const two = await bench.create({ layers: [layer.id] });
      expect(await two.client.output(`cat ${place()}greeting.txt`)).toBe('hello');
    });

    it('are made of a running instance, deletions included, while it continues', async () => {
      const base = await importFiles({ 'old.txt': 'old', 'kept.txt': 'kept' });
      const { instance, client } = await bench.create({ layers: [base.id] });
      const at = place();
      const written = await client.run(
        `rm ${at}old.txt && echo new > ${at}new.txt && echo mine > note`,
        'root',
      );
      expect(written.exitCode).toBe(0);
      const home = await client.output('echo mine > note; pwd');
      const layer = await instance.commitLayer();
      expect(await client.health()).toBe(204);
      const copy = await bench.create({ layers: [base.id, layer.id] });
      expect(await copy.client.output(`cat ${at}new.txt ${at}kept.txt | tr -d '\\n'`)).toBe('newkept');
      expect((await copy.client.run(`test -e ${at}old.txt`)).exitCode).toBe(1);
      expect(home).not.toBe('');
      expect(await copy.client.output('cat note')).toBe('mine');
    });

    it('refuse to be deleted while an instance stands on them', async () => {
      const layer = await importFiles({ 'greeting.txt': 'hello' });
      const { instance } = await bench.create({ layers: [layer.id] });
      expect(await codeOf(bench.driver.layers.delete(layer.id))).toBe('busy');
      await instance.destroy();
      await bench.driver.layers.delete(layer.id);
      expect(await bench.driver.layers.list()).toEqual([]);
    });

    it('refuse to be deleted while a checkpoint stands on them', async () => {
      const layer = await importFiles({ 'greeting.txt': 'hello' });
      const { instance } = await bench.create({ layers: [layer.id] });
      await instance.checkpoint({ checkpointId: 'standing', memory: false, then: 'destroy' });
      expect(await codeOf(bench.driver.layers.delete(layer.id))).toBe('busy');
      await bench.driver.deleteCheckpoint('standing');
      await bench.driver.layers.delete(layer.id);
    });

    it('refuse an archive that is none, and leave nothing of it', async () => {
      const rubbish = Readable.from([Buffer.alloc(4096, 'no archive ')]);
      expect(await codeOf(bench.driver.layers.importTar(rubbish))).toBe('invalid_archive');
      expect(await bench.driver.layers.list()).toEqual([]);
    });

    it('are refused as not_found or invalid when they do not exist', async () => {
      const made = bench.create({ layers: ['0123456789abcdef0123'] });
      expect(['not_found', 'invalid_spec']).toContain(await codeOf(made));
      expect(await codeOf(bench.driver.layers.delete('0123456789abcdef0123'))).toBe('not_found');
    });
  });
}
