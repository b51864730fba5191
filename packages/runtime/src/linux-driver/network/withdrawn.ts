import type { ForwardedDestinations } from '../../contract/instance.js';

/** Beyond so many prefixes, `ss` is asked to end all connections at those ports. */
const MAX_PREFIXES = 200;

type Span = [first: number, last: number];

/**
 * An expression of `ss` for connections that were forwarded and no longer are. Undefined: there are none.
 * @param now undefined: nothing is forwarded any more
 */
export function withdrawnFilter(
  before: ForwardedDestinations | undefined,
  now: ForwardedDestinations | undefined,
): string | undefined {
  if (before === undefined) return undefined;
  const ports = [...new Set([...before.exceptPorts, ...(now?.exceptPorts ?? [])])];
  const at = (plan: ForwardedDestinations | undefined, port: number | undefined): Span[] =>
    plan === undefined || (port !== undefined && plan.exceptPorts.includes(port))
      ? []
      : plan.ranges.map(spanOf);
  const groups = [undefined, ...ports].flatMap((port) => {
    const removed = without(at(before, port), at(now, port));
    if (removed.length === 0) return [];
    const prefixes = removed.flatMap(prefixesOf);
    const place =
      prefixes.length > MAX_PREFIXES ? [] : [`( ${prefixes.map((prefix) => `dst ${prefix}`).join(' or ')} )`];
    const which = port === undefined ? ports.map((each) => `dport != :${each}`) : [`dport = :${port}`];
    return [[...place, ...which].join(' and ') || 'dst 0.0.0.0/0'];
  });
  return groups.length === 0 ? undefined : groups.map((group) => `( ${group} )`).join(' or ');
}

/** Returns the parts of some spans that are not in others; both ascending and disjoint. */
function without(spans: readonly Span[], others: readonly Span[]): Span[] {
  return spans.flatMap(([first, last]) => {
    const rest: Span[] = [];
    let next = first;
    for (const [from, to] of others) {
      if (to < next || from > last) continue;
      if (from > next) rest.push([next, from - 1]);
      next = to + 1;
    }
    if (next <= last) rest.push([next, last]);
    return rest;
  });
}

/** The fewest prefixes that are the span together. */
function prefixesOf([first, last]: Span): string[] {
  const prefixes: string[] = [];
  for (let next = first; next <= last; ) {
    let size = next === 0 ? 2 ** 32 : next & -next;
    if (size < 0) size = 2 ** 31;
    while (next + size - 1 > last) size /= 2;
    prefixes.push(`${textOf(next)}/${32 - Math.log2(size)}`);
    next += size;
  }
  return prefixes;
}

function spanOf({ first, last }: { first: string; last: string }): Span {
  return [numberOf(first), numberOf(last)];
}

function numberOf(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

function textOf(value: number): string {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');
}
