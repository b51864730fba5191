import type { OperatedNode } from '@svc/sdk/operator';
import { expect, it } from 'vitest';
import { moveProgress, stateOf, stayingLines, waitUntilMoved } from '../../src/commands/node.js';

const node = (given: Partial<OperatedNode>): OperatedNode => ({
  ...{ nodeId: 'n', state: 'alive', apiUrl: '', sandboxUrl: '', lastSeenMs: 0, drain: 'move' },
  ...{ moving: undefined, sandboxes: { running: 0, paused: 0 }, report: undefined },
  ...given,
});
const moving = (given: Partial<NonNullable<OperatedNode['moving']>>) => ({
  ...{ sandboxes: 0, templates: 0, stays: [], staysTotal: 0 },
  ...given,
});

it('a node that empties itself is recognised by what it still has', () => {
  const cases: [Partial<OperatedNode>, string, string][] = [
    [{ drain: 'no' }, 'stopped', 'alive'],
    [{ drain: 'keep' }, 'stopped', 'alive, drained'],
    [{}, 'moving', 'alive, moving'],
    [{ moving: moving({ sandboxes: 1, templates: 2 }) }, 'moving', 'alive, moving, 3 left'],
    [{ moving: moving({ templates: 1, staysTotal: 1 }) }, 'moving', 'alive, moving, 1 left'],
    [{ moving: moving({ staysTotal: 2 }) }, 'stays', 'alive, moved, 2 stay'],
    [{ moving: moving({}) }, 'left', 'alive, moved'],
    [{ state: 'stopped', moving: moving({}) }, 'moving', 'stopped, moved'],
  ];
  for (const [given, kind, shown] of cases)
    expect([given, moveProgress(node(given)).kind, stateOf(node(given))]).toEqual([given, kind, shown]);
});

it('what stays is listed a line each, with how many more there are', () => {
  const stays = [{ kind: 'volume' as const, id: 'v', reason: 'volumes stay' }];
  expect(stayingLines({ moving: undefined })).toEqual([]);
  expect(stayingLines({ moving: moving({ stays, staysTotal: 1 }) })).toEqual([
    'volume v stays: volumes stay',
  ]);
  expect(stayingLines({ moving: moving({ stays, staysTotal: 4 }) })[1]).toBe('and 3 more');
});

it('waits until nothing is left to move, or there is no such node any more', async () => {
  const seen = [
    node({}),
    node({ moving: moving({ sandboxes: 1 }) }),
    node({ moving: moving({ staysTotal: 1 }) }),
  ];
  const told: string[] = [];
  const { signal } = new AbortController();
  const ended = await waitUntilMoved(
    async () => seen.shift(),
    (text) => told.push(text),
    signal,
  );
  expect(ended.kind).toBe('stays');
  expect(told).toEqual(['begins', '1 sandboxes and 0 snapshots or templates are to leave']);
  expect(
    (
      await waitUntilMoved(
        async () => undefined,
        () => {},
        signal,
      )
    ).kind,
  ).toBe('left');
});
