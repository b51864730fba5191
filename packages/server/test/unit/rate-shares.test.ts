import { describe, expect, it } from 'vitest';
import { RateLimiter } from '../../src/api/limits/rate-limit.js';
import { type Demand, shareOf } from '../../src/api/limits/rate-shares.js';

const LIMIT = { rate: 100, burst: 100 };
const BEAT_MS = 2_000;
const TICK_MS = 10;

/** Nodes whose heartbeats come each at its own moment; a clock that only the test moves. */
class Fleet {
  now = 1_000_000;
  readonly #nodes: { limiter: RateLimiter; told: Demand; beatAt: number }[];
  #due: number[];

  constructor(count: number) {
    this.#nodes = Array.from({ length: count }, (_, index) => ({
      limiter: new RateLimiter({ create: LIMIT }, () => this.now, { shared: true }),
      told: {},
      beatAt: this.now + Math.round((BEAT_MS * index) / count),
    }));
    this.#due = this.#nodes.map(() => 0);
    for (const _ of this.#nodes) this.run(BEAT_MS, () => []);
  }

  /** @param demand requests a second that each node is asked for, by the time since the begin. @returns how many passed */
  run(ms: number, demand: (atMs: number) => number[]): number {
    let passed = 0;
    for (let at = 0; at < ms; at += TICK_MS) {
      for (const [index, node] of this.#nodes.entries()) {
        this.#due[index]! += ((demand(at)[index] ?? 0) * TICK_MS) / 1_000;
        for (; this.#due[index]! >= 1; this.#due[index]! -= 1)
          if (node.limiter.take('create', 'team')!.allowed) passed += 1;
        if (this.now >= node.beatAt) {
          node.beatAt += BEAT_MS;
          const shares = node.limiter.shares!;
          node.told = shares.takeDemand(BEAT_MS);
          shares.update(
            this.#nodes.map(({ told }) => told),
            index,
          );
        }
      }
      this.now += TICK_MS;
    }
    return passed;
  }
}

const spread = (parts: number[], all: number) => () => parts.map((part) => part * all);

describe('the share of a node', () => {
  it.each([
    ['of one node is everything', 0, [0], 1],
    ['is equal where nobody is asked', 0, [0, 0, 0, 0], 0.25],
    ['is nearly everything where it alone is asked', 100, [100, 0], 0.976],
    ['is little where others are asked', 0, [100, 0], 0.024],
    ['is by demand where all ask for more than there is', 300, [300, 100], 0.747],
  ])('%s', (_title, own, demands, expected) => {
    expect(shareOf(own, demands, LIMIT.rate)).toBeCloseTo(expected, 3);
  });

  it('adds up to everything, for any demand', () => {
    for (const demands of [[0], [1, 0, 7], [1_000, 2_000, 0, 0], Array(40).fill(3)]) {
      const parts = demands.map((own: number) => shareOf(own, demands, LIMIT.rate));
      expect(parts.reduce((sum, part) => sum + part, 0)).toBeCloseTo(1, 9);
    }
  });
});

describe('the rate of a team over all nodes', () => {
  it.each([
    ['evenly', [1 / 3, 1 / 3, 1 / 3]],
    ['unevenly', [0.7, 0.2, 0.1]],
    ['to one alone', [1, 0, 0]],
  ])('is the limit where twice as much is asked for, spread %s', (_how, parts) => {
    const fleet = new Fleet(3);
    fleet.run(10_000, spread(parts, 2 * LIMIT.rate));
    const passed = fleet.run(20_000, spread(parts, 2 * LIMIT.rate)) / 20;
    expect(passed).toBeGreaterThan(0.94 * LIMIT.rate);
    expect(passed).toBeLessThan(1.02 * LIMIT.rate);
  });

  it('lets everything through that is below the limit, wherever it is asked for', () => {
    const fleet = new Fleet(3);
    for (const parts of [
      [1, 0, 0],
      [0, 0.5, 0.5],
      [0.2, 0.3, 0.5],
    ]) {
      fleet.run(10_000, spread(parts, 0.9 * LIMIT.rate));
      expect(fleet.run(10_000, spread(parts, 0.9 * LIMIT.rate))).toBeGreaterThan(0.89 * LIMIT.rate * 10);
    }
  });

  it.each([2, 3, 8])('is kept by %i nodes that are all asked for everything at once', (count) => {
    const fleet = new Fleet(count);
    const passed = fleet.run(10_000, () => Array(count).fill(10 * LIMIT.rate));
    expect(passed).toBeLessThanOrEqual(1.2 * LIMIT.rate * 10 + LIMIT.burst);
    expect(passed).toBeGreaterThan(0.9 * LIMIT.rate * 10);
  });

  it('follows demand that moves to another node within eight seconds', () => {
    const fleet = new Fleet(2);
    fleet.run(20_000, spread([1, 0], 2 * LIMIT.rate));
    const moved = [2, 4, 6, 8, 10].map(() => fleet.run(2_000, spread([0, 1], 2 * LIMIT.rate)) / 2);
    expect(moved.at(-1)).toBeGreaterThan(0.9 * LIMIT.rate);
    expect(Math.max(...moved)).toBeLessThan(1.2 * LIMIT.rate + LIMIT.burst / 2);
  });

  it.each([
    [500, 0],
    [2_000, 0],
    [4_000, 0],
    // A node that nobody asked for a while gives its share in full again once it has one.
    [10_000, 0.4],
  ])('cannot be got round by asking another node every %i ms', (everyMs, least) => {
    const fleet = new Fleet(4);
    const passed = fleet.run(80_000, (at) =>
      Array.from({ length: 4 }, (_, index) => (Math.floor(at / everyMs) % 4 === index ? 20 * LIMIT.rate : 0)),
    );
    expect(passed / 80).toBeLessThan(LIMIT.rate);
    expect(passed / 80).toBeGreaterThan(least * LIMIT.rate);
  });

  it('reports those with the highest demand, and counts anew after that', () => {
    const { shares } = new RateLimiter({}, () => 0, { shared: true });
    for (let team = 0; team < 600; team += 1)
      for (let count = 0; count <= team; count += 1) shares!.count(`general ${team}`);
    const told = shares!.takeDemand(2_000);
    expect(Object.keys(told)).toHaveLength(500);
    expect(told['general 599']).toBe(300);
    expect(told['general 99']).toBeUndefined();
    expect(shares!.takeDemand(2_000)).toEqual({});
  });
});
