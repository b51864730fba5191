import { DriverError } from '../../contract/errors.js';
import type { IdPool } from '../state/options.js';
import { IDS } from './id-ranges.js';

/** Most ranges in a block, and so instances of a driver: as many as its network has addresses for. */
export const RANGES = 1024;

/** Below it are the host's own users and what containers without ranges have. */
const LOWEST = 65_536;
/** Above it some programs take ids for negative. */
const HIGHEST = 0x7fffffff;

/** From here on distributions give out nothing by themselves. */
export const DEFAULT_POOL: IdPool = { first: 0x20000000, count: HIGHEST + 1 - 0x20000000 };

/** The number of ranges in a block of this pool. */
export function rangesOf(pool: IdPool): number {
  return Math.min(RANGES, Math.floor(pool.count / IDS));
}

/**
 * Blocks of a pool, in an order that differs per data directory, so that drivers rarely meet. Blocks that are somebody's
 * already are left out.
 * @param tag eight hex digits.
 * @param taken texts of `/etc/subuid` and `/etc/subgid`.
 */
export function idBlocks(pool: IdPool, tag: string, taken: string): IdPool[] {
  const size = rangesOf(pool) * IDS;
  const count = size > 0 ? Math.floor(pool.count / size) : 0;
  const others = parseSubordinate(taken);
  const start = count > 0 ? Number.parseInt(tag, 16) % count : 0;
  return Array.from({ length: count }, (_, index) => ({
    first: pool.first + ((start + index) % count) * size,
    count: size,
  })).filter((block) => !others.some((other) => overlap(block, other)));
}

/**
 * Checks that ids that an operator chose can be used for sandboxes.
 * @param taken texts of `/etc/subuid` and `/etc/subgid`.
 * @throws {DriverError} `unsupported`, saying what is wrong and what to do
 */
export function requireUsable(pool: IdPool, taken: string): void {
  const { first, count } = pool;
  const fail = (why: string) => {
    throw new DriverError(
      'unsupported',
      `The user ids ${first} to ${first + count - 1} cannot be given to sandboxes: ${why}.`,
    );
  };
  if (!Number.isInteger(first) || !Number.isInteger(count) || first < LOWEST)
    fail(`those below ${LOWEST} are the host's own; choose a higher first id`);
  if (count < IDS) fail(`each sandbox needs ${IDS} of them`);
  if (first + count - 1 > HIGHEST) fail(`the last must not be above ${HIGHEST}`);
  const other = parseSubordinate(taken).find((each) => overlap(pool, each));
  if (other !== undefined)
    fail(
      `/etc/subuid or /etc/subgid gives ${other.first} to ${other.first + other.count - 1} to "${other.owner}"; choose others`,
    );
}

/** Returns true if two of them have an id in common. */
export function overlap(one: IdPool, other: IdPool): boolean {
  return one.first < other.first + other.count && other.first < one.first + one.count;
}

/** Lines `name:first:count`. */
function parseSubordinate(text: string): (IdPool & { owner: string })[] {
  return text.split('\n').flatMap((line) => {
    const [owner = '', ...numbers] = line.split(':');
    const [first, count] = numbers.map(Number);
    return first !== undefined && count !== undefined && first >= 0 && count > 0
      ? [{ owner, first, count }]
      : [];
  });
}
