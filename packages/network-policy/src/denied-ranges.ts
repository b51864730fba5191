import { type Address, contains, parseRange, type Range } from './addresses.js';
import { DENIED_RANGES } from './gen/denied-ranges.js';

/** A range with the text that named it. */
export interface NamedRange {
  text: string;
  range: Range;
}

/** @throws {TypeError} for a text that is no address or CIDR range */
export function readRanges(texts: readonly string[]): NamedRange[] {
  return texts.map((text) => {
    const range = parseRange(text);
    if (range === undefined) throw new TypeError(`'${text}' is not an IP address or CIDR range`);
    return { text, range };
  });
}

const denied = readRanges(DENIED_RANGES);

/**
 * The range by which an address is always denied.
 * @param except ranges that the operator of the host lets sandboxes reach all the same
 */
export function deniedRangeOf(address: Address, except: readonly NamedRange[] = []): string | undefined {
  const found = denied.find(({ range }) => contains(range, address));
  if (found === undefined || except.some(({ range }) => contains(range, address))) return undefined;
  return found.text;
}
