import type { AuditEntry, AuditFilter, AuditOutcome } from '@svc/sdk/operator';
import { expect, it } from 'vitest';
import { followEntries } from '../../src/commands/audit.js';

function entry(id: string, at: number, outcome: AuditOutcome = 'succeeded'): AuditEntry {
  const actor = { kind: 'operator' } as const;
  return { entryId: id, at: new Date(at), actor, operation: 'createTeam', outcome, nodeId: 'n' };
}

/** Follows a service that answers each look with the next list. */
async function follow(options: {
  latest?: AuditEntry[];
  looks: AuditEntry[][];
  filter?: AuditFilter;
  /** Clock at each look, ms. */
  times?: number[];
}) {
  const asked: AuditFilter[] = [];
  const given: [string, AuditOutcome][] = [];
  let look = -1;
  const entries = followEntries({
    filter: options.filter ?? {},
    latest: options.latest ?? [],
    wait: async () => ++look < options.looks.length,
    now: () => options.times?.[Math.max(look, 0)] ?? 0,
    async *read(filter) {
      asked.push(filter);
      yield* (options.looks[look] ?? []).filter(({ at }) => filter.from === undefined || at >= filter.from);
    },
  });
  for await (const { entryId, outcome } of entries) given.push([entryId, outcome]);
  return { asked, given };
}

it('gives the latest entries, then each new one once', async () => {
  const old = entry('a', 100_000);
  const { given, asked } = await follow({
    latest: [old],
    looks: [[old], [old, entry('b', 101_000)], [old, entry('b', 101_000), entry('c', 102_000)]],
  });
  expect(given.map(([id]) => id)).toEqual(['a', 'b', 'c']);
  expect(asked[0]?.from).toEqual(new Date(100_000));
});

it('gives an entry that could be read only after a later one', async () => {
  const first = entry('first', 100_000);
  const late = entry('late', 105_000);
  const early = entry('early', 112_000);
  const { given } = await follow({
    latest: [first],
    looks: [
      [first, early],
      [first, late, early],
    ],
  });
  expect(given.map(([id]) => id)).toEqual(['first', 'early', 'late']);
});

it('waits for the outcome of an entry, however many come in between, but not for ever', async () => {
  const open = entry('slow', 100_000, 'unfinished');
  const others = [entry('x', 150_000), entry('y', 190_000)];
  const ends = await follow({
    latest: [open],
    looks: [
      [open, ...others],
      [entry('slow', 100_000, 'refused'), ...others],
    ],
    times: [0, 60_000],
  });
  expect(ends.given).toEqual([
    ['x', 'succeeded'],
    ['y', 'succeeded'],
    ['slow', 'refused'],
  ]);
  const hangs = await follow({
    latest: [open],
    looks: [[open], [open], [open]],
    times: [0, 119_000, 120_000],
  });
  expect(hangs.given).toEqual([['slow', 'unfinished']]);
});

it('looks at outcomes itself, as those under way have none yet', async () => {
  const open = entry('slow', 100_000, 'unfinished');
  const { given, asked } = await follow({
    filter: { outcome: 'refused', team: 'research' },
    latest: [],
    looks: [[open, entry('done', 100_500)], [entry('slow', 100_000, 'refused')]],
  });
  expect(given).toEqual([['slow', 'refused']]);
  expect(asked[0]).toEqual({ team: 'research' });
});
