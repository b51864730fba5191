import { describe, expect, it } from 'vitest';
import { spareBytes } from '../../src/linux-driver/cgroups/admission.js';
import { PoolDemand, poolSizes } from '../../src/shared/pool-demand.js';
import { WarmPool, type WarmPoolOptions } from '../../src/shared/warm-pool.js';

const MIB = 2 ** 20;
const MAKE_MS = 200;
const MINUTE_MS = 60_000;

function withResolvers() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** A pool of strings: the kind and a number. Each uses as much as `bytes` says. */
function poolOf(options: Partial<WarmPoolOptions<string, string>> = {}) {
  const state = { now: 0, made: 0, free: 1_000 * MIB, bytes: 10 * MIB, discarded: [] as string[] };
  const pool = new WarmPool<string, string>({
    keyOf: (kind) => kind,
    make: async (kind) => `${kind}${(state.made += 1)}`,
    discard: async (item) => void state.discarded.push(item),
    usable: () => true,
    onFailure: () => undefined,
    now: () => state.now,
    growth: {
      pooledSpecOf: (kind) => (kind === 'mounted' ? undefined : kind),
      bytesOf: () => state.bytes,
      freeBytes: () => state.free,
    },
    ...options,
  });
  /** So many at once, in a busy moment of their own. How many there were. */
  const ask = async (kind: string, count: number) => {
    await pool.ready();
    state.now += 15_000;
    const taken = Array.from({ length: count }, () => pool.take(kind));
    await pool.ready();
    return taken.filter((item) => item !== undefined).length;
  };
  return { pool, state, ask };
}

describe('the warm pool', () => {
  it('fills, serves by kind, refills, and discards at the end', async () => {
    const { pool, state } = poolOf({ usable: (item) => item !== 'a1' });
    pool.setDesired([{ spec: 'a', size: 2 }]);
    await pool.ready();
    expect(pool.take('b')).toBeUndefined();
    expect(pool.take('a')).toBe('a2');
    await pool.ready();
    expect(state.made).toBe(4);
    expect(state.discarded).toEqual(['a1']);
    await pool.close();
    expect(state.discarded.sort()).toEqual(['a1', 'a3', 'a4']);
  });

  it('counts what it gave for nothing as a miss', async () => {
    const { pool } = poolOf();
    pool.setDesired([{ spec: 'a', size: 1 }]);
    await pool.ready();
    expect(pool.take('a')).toBe('a1');
    expect(pool.state).toMatchObject({ hits: 1, misses: 0 });
    pool.countAsMiss();
    expect(pool.state).toMatchObject({ hits: 0, misses: 1 });
    await pool.close();
  });

  it('gives up on a kind that cannot be made', async () => {
    const failures: unknown[] = [];
    const { pool } = poolOf({
      make: () => Promise.reject(new Error('broken')),
      onFailure: (error) => failures.push(error),
    });
    pool.setDesired([{ spec: 'a', size: 3 }]);
    await pool.ready();
    expect(failures).toHaveLength(1);
    await pool.close();
  });

  it('keeps as many as a second busy moment took, of kinds that nobody requested too', async () => {
    const { pool, ask } = poolOf();
    pool.setDesired([{ spec: 'a', size: 2 }], 1_000 * MIB);
    await pool.ready();
    expect(await ask('a', 12)).toBe(2);
    expect(await ask('a', 12)).toBe(2);
    expect(await ask('a', 12)).toBe(12);
    expect(await ask('b', 5)).toBe(0);
    expect(await ask('b', 5)).toBe(0);
    expect(await ask('b', 5)).toBe(5);
    await pool.close();
  });

  it('shrinks again when nothing like it came for ten minutes', async () => {
    const { pool, state, ask } = poolOf();
    pool.setDesired([{ spec: 'a', size: 1 }], 1_000 * MIB);
    await ask('a', 8);
    await ask('a', 8);
    state.now += 20 * MINUTE_MS;
    await ask('a', 1);
    expect(state.discarded).toHaveLength(6);
    await pool.close();
  });

  it('stays within its memory as measured, and within what the host has', async () => {
    const { pool, state, ask } = poolOf();
    pool.setDesired([{ spec: 'a', size: 1 }], 65 * MIB);
    for (let round = 0; round < 5; round++) await ask('a', 20);
    expect(await ask('a', 20)).toBe(6);
    state.free = 0;
    await ask('a', 20);
    expect(await ask('a', 20)).toBe(1);
    await pool.close();
  });

  it('never grows without a budget, nor for what nothing made in advance serves', async () => {
    const { pool, state, ask } = poolOf();
    pool.setDesired([{ spec: 'a', size: 1 }]);
    for (let round = 0; round < 4; round++) expect(await ask('a', 9)).toBe(1);
    pool.setDesired([{ spec: 'a', size: 1 }], 1_000 * MIB);
    const before = state.made;
    for (let round = 0; round < 4; round++) expect(await ask('mounted', 9)).toBe(0);
    expect(state.made).toBe(before);
    await pool.close();
  });

  it('drops a kind at once, though others wait to be made while creates never end', async () => {
    const { promise: begun, resolve: begin } = withResolvers();
    const { promise: opened, resolve: open } = withResolvers();
    const { pool, state } = poolOf({
      make: async (kind) => {
        if (kind === 'slow') {
          begin();
          await opened;
        }
        return `${kind}${(state.made += 1)}`;
      },
    });
    pool.setDesired([{ spec: 'a', size: 1 }]);
    await pool.ready();
    pool.setDesired([
      { spec: 'a', size: 1 },
      { spec: 'slow', size: 1 },
      { spec: 'b', size: 1 },
    ]);
    await begun;
    const { promise: ended, resolve: end } = withResolvers();
    const creating = pool.yieldTo(() => ended);
    await pool.drop((kind) => kind === 'a');
    expect(state.discarded).toEqual(['a1']);
    await pool.drop((kind) => kind === 'b');
    const dropping = pool.drop((kind) => kind === 'slow');
    open();
    await dropping;
    expect(state.discarded).toEqual(['a1', 'slow2']);
    end();
    await creating;
    await pool.close();
    expect(state.made).toBe(2);
  });

  it('keeps none of a kind that was dropped', async () => {
    const { pool, state, ask } = poolOf();
    pool.setDesired([], 1_000 * MIB);
    await ask('a', 3);
    await ask('a', 3);
    await pool.drop((kind) => kind === 'a');
    expect(state.discarded).toHaveLength(3);
    await pool.close();
  });

  it('gives way: empties, and fills again once that was a while ago', async () => {
    const { pool, state } = poolOf();
    expect(await pool.shed()).toBe(false);
    pool.setDesired([{ spec: 'a', size: 3 }]);
    await pool.ready();
    expect(await pool.shed()).toBe(true);
    expect(state.discarded).toHaveLength(3);
    expect(pool.take('a')).toBeUndefined();
    await pool.ready();
    expect(state.made).toBe(3);
    state.now += MINUTE_MS;
    expect(pool.take('a')).toBeUndefined();
    await pool.ready();
    expect(state.made).toBe(6);
    await pool.close();
  });

  it('follows no more than the last kinds that were asked for, and always what was requested', async () => {
    const { pool, state, ask } = poolOf();
    pool.setDesired([{ spec: 'a', size: 1 }], 1_000 * MIB);
    await ask('early', 2);
    for (let kind = 0; kind < 1_000; kind++) pool.take(`kind${kind}`);
    await ask('early', 2);
    await ask('early', 2);
    expect(await ask('early', 2)).toBe(2);
    expect(await ask('a', 1)).toBe(1);
    expect(state.made).toBeLessThan(1_000);
    await pool.close();
  });
});

describe('demand', () => {
  const wantedFor = (arrivals: readonly number[], now = arrivals.at(-1)!) => {
    const demand = new PoolDemand();
    for (const at of arrivals) demand.note(at, MAKE_MS);
    return demand.wanted(now);
  };
  const every = (ms: number, count: number, from = 0) =>
    Array.from({ length: count }, (_, index) => from + index * ms);
  const burst = (from: number, count: number) => every(1, count, from);

  it.each([
    ['nothing', [0], 0],
    ['one burst, which may never come again', burst(0, 50), 0],
    ['two bursts', [...burst(0, 50), ...burst(30_000, 20)], 20],
    ['the second of three', [...burst(0, 50), ...burst(30_000, 20), ...burst(60_000, 30)], 30],
    ['halves of one burst, as one', [...burst(0, 25), ...burst(3_000, 25)], 0],
    ['now and then', every(MINUTE_MS, 5), 1],
    ['steadily, slower than they are made', every(1_000, 60), 1],
    ['steadily, faster than they are made', every(100, 300), 101],
    ['a busy morning that is over', [...burst(0, 50), ...burst(30_000, 50), 1_000_000], 0],
  ])('of %s', (_, arrivals, wanted) => {
    expect(wantedFor(arrivals)).toBe(wanted);
  });

  it('is forgotten without anybody asking again', () => {
    const arrivals = [...burst(0, 50), ...burst(30_000, 50)];
    expect(wantedFor(arrivals, 60_000)).toBe(50);
    expect(wantedFor(arrivals, 700_000)).toBe(0);
  });
});

describe('sizes of the pool', () => {
  it.each([
    ['what is wanted, with room', [[4, 9]], 100, [9]],
    ['the least, without', [[4, 9]], 0, [4]],
    ['the least, when less is wanted', [[4, 1]], 100, [4]],
    ['as far as the room goes', [[4, 9]], 6, [6]],
    [
      'the modest kinds first',
      [
        [0, 50],
        [0, 2],
        [4, 4],
      ],
      16,
      [10, 2, 4],
    ],
  ] as const)('are %s', (_, kinds, room, sizes) => {
    expect(
      poolSizes(
        kinds.map(([least, wanted]) => ({ least, wanted })),
        room,
      ),
    ).toEqual(sizes);
  });
});

describe('memory for pooled items', () => {
  const host = (availableMiB: number) => ({ totalBytes: 8_192 * MIB, availableBytes: availableMiB * MIB });
  const budget = { memoryBytes: 4_096 * MIB, pids: 1_000 };

  it.each([
    ['what the budget leaves of three quarters', 8_000, 1_024, 2_048],
    ['nothing beyond that', 8_000, 3_500, 0],
    ['what the host has beyond its reserve', 1_843, 0, 1_024],
    ['nothing on a full host', 500, 0, 0],
  ])('is %s', (_, availableMiB, usedMiB, spareMiB) => {
    const bytes = spareBytes({ memory: host(availableMiB), usedMemoryBytes: usedMiB * MIB, budget });
    expect(Math.round(bytes / MIB)).toBe(spareMiB);
  });
});
