import type { IdPool } from '../state/options.js';
import { IDS } from './id-ranges.js';

/** Ranges in a block, and so instances of a driver: as many as its network has addresses for. */
export const RANGES = 1024;
const BLOCK = RANGES * IDS;

/** From here on distributions give out nothing by themselves; above the end some programs take ids for negative. */
export const DEFAULT_POOL = { first: 0x20000000, last: 0x7fffffff };

/**
 * First ids of the blocks in a pool, in an order that differs per data directory, so that drivers rarely meet. Blocks that
 * are somebody's already are left out.
 * @param tag eight hex digits.
 * @param taken texts of `/etc/subuid` and `/etc/subgid`.
 */
export function idBlocks(pool: IdPool, tag: string, taken: string): number[] {
  const count = Math.floor((pool.last + 1 - pool.first) / BLOCK);
  const others = parseSubordinate(taken);
  const start = count > 0 ? Number.parseInt(tag, 16) % count : 0;
  return Array.from({ length: count }, (_, index) => pool.first + ((start + index) % count) * BLOCK).filter(
    (first) => others.every((other) => other.last < first || other.first > first + BLOCK - 1),
  );
}

/** Lines `name:first:count`. */
function parseSubordinate(text: string): IdPool[] {
  return text.split('\n').flatMap((line) => {
    const [, first, count] = line.split(':').map(Number);
    return first !== undefined && count !== undefined && first >= 0 && count > 0
      ? [{ first, last: first + count - 1 }]
      : [];
  });
}
