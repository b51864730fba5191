import { expect, it } from 'vitest';
import { ForwardWatch } from '../../src/cluster/nodes/forward-watch.js';

const record = { id: 'a', apiUrl: '', sandboxUrl: '', acknowledges: true };

it('breaks off what a node that fell silent has to answer, at the second look, and nothing of others', async () => {
  const alive = new Set(['a', 'b']);
  const watch = new ForwardWatch({
    findAlive: async (nodeId) => (alive.has(nodeId) ? { ...record, id: nodeId } : undefined),
  });
  const broken: string[] = [];
  watch.add('a', () => broken.push('a1'));
  const answered = watch.add('a', () => broken.push('a2'));
  watch.add('b', () => broken.push('b'));
  answered();
  await watch.look();
  alive.delete('a');
  await watch.look();
  expect(broken).toEqual([]);
  await watch.look();
  expect(broken).toEqual(['a1']);
  watch.close();
});

it('breaks nothing off while the database does not answer, nor when a node was silent once', async () => {
  const found: (() => Promise<typeof record | undefined>)[] = [
    async () => undefined,
    () => Promise.reject(new Error('no database')),
    async () => record,
    async () => undefined,
  ];
  const watch = new ForwardWatch({ findAlive: () => found.shift()!() });
  let broken = 0;
  watch.add('a', () => (broken += 1));
  for (let look = 0; look < 4; look += 1) await watch.look();
  expect([broken, found.length]).toEqual([0, 0]);
  watch.close();
});
