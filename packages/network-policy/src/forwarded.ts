import { formatAddress, parseAddress, type Range } from './addresses.js';
import { compilePolicy, HOST_PORTS } from './compile.js';
import { readRanges } from './denied-ranges.js';
import type { EgressPolicy } from './policy.js';

/** So many ranges at most: a policy with more of them is decided connection by connection. */
const MAX_RANGES = 256;
const ALL_V4: Range = { family: 4, first: 0n, last: 0xffff_ffffn };

/** Connections whose addresses alone decide that they are allowed, so that nobody has to read them. */
export interface ForwardedDestinations {
  /** IPv4, ascending and apart from each other. Ranges that are always denied may be in there: whoever forwards denies those. */
  ranges: { first: string; last: string }[];
  /** Ports at which a name may decide: never forwarded. */
  exceptPorts: number[];
}

/** Returns the destinations that can be left to the kernel. With a proxy there are none. */
export function forwardedOf(policy: EgressPolicy): ForwardedDestinations {
  const { readsHosts } = compilePolicy(policy);
  const ranges = policy.proxy === undefined ? allowedRanges(policy) : [];
  return {
    ranges: ranges.length > MAX_RANGES ? [] : ranges.map(textOf),
    exceptPorts: readsHosts ? [...HOST_PORTS] : [],
  };
}

/** All that is not denied, and all that is allowed. */
function allowedRanges({ allowOut, denyOut }: EgressPolicy): Range[] {
  const addresses = allowOut.filter((entry) => parseAddress(entry.split('/')[0]!) !== undefined);
  const kept = without(ALL_V4, sorted(denyOut));
  return joined([...kept, ...sorted(addresses)]);
}

function sorted(texts: readonly string[]): Range[] {
  return readRanges(texts)
    .map(({ range }) => range)
    .filter(({ family }) => family === 4)
    .sort(byFirst);
}

/** @param denied ascending */
function without(all: Range, denied: readonly Range[]): Range[] {
  const rest: Range[] = [];
  let next = all.first;
  for (const { first, last } of denied) {
    if (first > next) rest.push({ family: 4, first: next, last: first - 1n });
    if (last >= next) next = last + 1n;
  }
  if (next <= all.last) rest.push({ family: 4, first: next, last: all.last });
  return rest;
}

/** Makes one of ranges that overlap or touch. */
function joined(ranges: readonly Range[]): Range[] {
  const apart: Range[] = [];
  for (const range of [...ranges].sort(byFirst)) {
    const before = apart.at(-1);
    if (before === undefined || range.first > before.last + 1n) apart.push({ ...range });
    else if (range.last > before.last) before.last = range.last;
  }
  return apart;
}

function byFirst(one: Range, other: Range): number {
  return one.first < other.first ? -1 : one.first > other.first ? 1 : 0;
}

function textOf({ first, last }: Range): { first: string; last: string } {
  return {
    first: formatAddress({ family: 4, value: first }),
    last: formatAddress({ family: 4, value: last }),
  };
}
