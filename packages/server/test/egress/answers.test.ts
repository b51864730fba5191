import { expect, it } from 'vitest';
import { answersTo } from '../../src/network/egress/start-egress.js';
import { TrafficCounters } from '../../src/network/egress/traffic.js';
import type { EgressRun } from '../../src/network/sandbox-egress.js';

it('answers the egress process for sandboxes that live, and for nobody that it makes up', async () => {
  const runs = new Map<string, EgressRun>([['lives', {}]]);
  const asked: string[] = [];
  const handlers = answersTo({
    context: () => ({ log: { debug: () => {} } }) as never,
    resolveDns: async (query) => {
      asked.push(Buffer.from(query).toString());
      return query;
    },
    runOf: (sandboxId) => runs.get(sandboxId),
    traffic: new TrafficCounters(),
    observer: { onSent: () => {}, onDenied: async () => {} },
  });
  const { signal } = new AbortController();
  const ask = (sandboxId: string) => handlers.resolveDns(Buffer.from(sandboxId), { sandboxId, signal });
  expect(Buffer.from(await ask('lives')).toString()).toBe('lives');
  for (const sandboxId of ['ended', '', '__proto__'])
    await expect(ask(sandboxId)).rejects.toThrow('no such sandbox');
  expect(asked).toEqual(['lives']);
  // It lives, but has no rules that name anything.
  const placeholders = handlers.resolvePlaceholders([{ kind: 'secret', name: 'key' }], {
    sandboxId: 'lives',
    host: 'example.com',
    signal,
  });
  await expect(placeholders).rejects.toThrow('no rules');
});
