import { type Address, contains, parseRange, type Range } from './addresses.js';

/**
 * What no policy allows: this host, private and shared networks, link-local addresses (cloud metadata among them), special
 * and documentation ranges, multicast, and the ranges of IPv6 that carry IPv4 addresses.
 */
export const DENIED_RANGES: readonly string[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  '::/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];

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
