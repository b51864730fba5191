import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { randomId } from '../../shared/instance-id.js';
import type { Workbench } from '../workbench.js';
import { codeOf } from './code-of.js';

export function errorContract(bench: Workbench): void {
  describe('errors', () => {
    it.each(['', 'Upper', 'with-dash', 'a/b', '..', 'x'.repeat(33)])(
      'refuse the instance id %j',
      async (id) => {
        expect(await codeOf(bench.create({}, id))).toBe('invalid_spec');
        expect(await bench.driver.list()).toEqual([]);
      },
    );

    it('refuse an id that is taken', async () => {
      const id = randomId();
      const { client } = await bench.create({}, id);
      expect(await codeOf(bench.create({}, id))).toBe('invalid_spec');
      expect(await client.health()).toBe(204);
    });

    it('refuse one of two creates of the same id at once', async () => {
      const id = randomId();
      const outcomes = await Promise.allSettled([bench.create({}, id), bench.create({}, id)]);
      expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    });

    it('refuse labels of more than 4 KiB', async () => {
      expect(await codeOf(bench.create({ labels: { long: 'x'.repeat(5000) } }))).toBe('invalid_spec');
    });

    it('say not_found for an unknown checkpoint and leave nothing', async () => {
      expect(await codeOf(bench.restore('unknown', false))).toBe('not_found');
      expect(await bench.driver.list()).toEqual([]);
    });

    it('say busy when the name of a checkpoint is taken', async () => {
      const { instance } = await bench.create();
      await instance.checkpoint({ checkpointId: 'name', memory: false, then: 'continue' });
      const again = instance.checkpoint({ checkpointId: 'name', memory: false, then: 'continue' });
      expect(await codeOf(again)).toBe('busy');
    });

    it('give undefined for adopting what does not exist', async () => {
      expect(await bench.driver.adopt('nobody')).toBeUndefined();
    });

    it.each([0, 5, 40])('undo a create that is aborted after %i ms', async (delayMs) => {
      const reason = new Error('no longer wanted');
      const abort = new AbortController();
      const made = bench.driver.create({ id: 'aborted', spec: bench.spec(), signal: abort.signal });
      const outcome = made.then(
        (instance) => instance,
        (error: unknown) => error,
      );
      await sleep(delayMs);
      abort.abort(reason);
      const result = await outcome;
      // A fast driver may have been done before; then the instance is whole.
      if (result === reason) {
        expect(await bench.driver.list()).toEqual([]);
        const { client } = await bench.create({}, 'aborted');
        expect(await client.health()).toBe(204);
      } else {
        expect(result).toMatchObject({ id: 'aborted' });
      }
    });
  });
}
