/** An IP address as a number. IPv4 inside IPv6 (`::ffff:1.2.3.4`) is IPv4. */
export interface Address {
  family: 4 | 6;
  value: bigint;
}

/** A CIDR range. */
export interface Range {
  family: 4 | 6;
  /** The first address. */
  first: bigint;
  last: bigint;
}

const V4_PART = /^(0|[1-9]\d{0,2})$/;
const V6_GROUP = /^[0-9a-f]{1,4}$/i;
const MAPPED = 0xffffn;
/** Longer texts are no addresses and no ranges: nobody takes megabytes of colons apart. */
const MAX_TEXT = 50;

/**
 * Reads an address in its standard spelling. Everything else that some program takes for an address (`010.0.0.1`, `0x7f.1`,
 * `2130706433`, `127.1`) is refused, since programs do not agree on what it means.
 */
export function parseAddress(text: string): Address | undefined {
  if (text.length > MAX_TEXT) return undefined;
  const v4 = parseV4(text);
  if (v4 !== undefined) return { family: 4, value: v4 };
  const v6 = parseV6(text);
  if (v6 === undefined) return undefined;
  return v6 >> 32n === MAPPED ? { family: 4, value: v6 & 0xffff_ffffn } : { family: 6, value: v6 };
}

/** Reads an address, or `address/bits`, as the range that it stands for. Bits past the prefix are ignored. */
export function parseRange(text: string): Range | undefined {
  if (text.length > MAX_TEXT) return undefined;
  const [host = '', bits, ...rest] = text.split('/');
  const address = parseAddress(host);
  if (address === undefined || rest.length > 0) return undefined;
  const { family, value } = address;
  const size = family === 4 ? 32 : 128;
  let prefix = size;
  if (bits !== undefined) {
    if (!/^(0|[1-9]\d{0,2})$/.test(bits)) return undefined;
    // A prefix of a mapped address counts the 96 bits before it.
    prefix = Number(bits) - (family === 4 && host.includes(':') ? 96 : 0);
    if (prefix < 0 || prefix > size) return undefined;
  }
  const span = (1n << BigInt(size - prefix)) - 1n;
  return { family, first: value & ~span, last: value | span };
}

/** The one spelling of an address: IPv4 inside IPv6 as IPv4, IPv6 as RFC 5952 has it. */
export function formatAddress({ family, value }: Address): string {
  return family === 4 ? formatV4(value) : formatV6(value);
}

/** A range as its first address, a slash and the bits of its prefix. */
export function formatRange({ family, first, last }: Range): string {
  const prefix = (family === 4 ? 32 : 128) - (first === last ? 0 : (last - first).toString(2).length);
  return `${formatAddress({ family, value: first })}/${prefix}`;
}

function formatV4(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.');
}

function formatV6(value: bigint): string {
  const groups = value.toString(16).padStart(32, '0').match(/.{4}/g)!;
  const short = groups.map((group) => group.replace(/^0{1,3}/, ''));
  const longest = (short.join(' ').match(/(?<!\S)0( 0)+(?!\S)/g) ?? []).sort(
    (a, b) => b.length - a.length,
  )[0];
  if (longest === undefined) return short.join(':');
  const zeros = longest.split(' ').length;
  const at = short.findIndex((_, index) => short.slice(index, index + zeros).every((group) => group === '0'));
  return `${short.slice(0, at).join(':')}::${short.slice(at + zeros).join(':')}`;
}

export function contains(range: Range, address: Address): boolean {
  return range.family === address.family && range.first <= address.value && address.value <= range.last;
}

/**
 * Recognizes a host that ends in a number as `inet_aton` reads it: parts in decimal, octal or hexadecimal, the last one filling
 * what is left. To be told apart from a name, never to be allowed by it.
 */
export function looksNumeric(host: string): boolean {
  const last = host.split('.').at(-1) ?? '';
  return /^(\d+|0x[0-9a-f]*)$/i.test(last);
}

function parseV4(text: string): bigint | undefined {
  const parts = text.split('.');
  if (parts.length !== 4) return undefined;
  let value = 0n;
  for (const part of parts) {
    const number = Number(part);
    if (!V4_PART.test(part) || number > 255) return undefined;
    value = (value << 8n) | BigInt(number);
  }
  return value;
}

function parseV6(text: string): bigint | undefined {
  if (!text.includes(':')) return undefined;
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const groups = halves.map((half, index) => groupsOf(half, index === halves.length - 1));
  const [before, after] = groups;
  if (before === undefined || groups.includes(undefined)) return undefined;
  const missing = 8 - before.length - (after?.length ?? 0);
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const all = [...before, ...new Array<number>(missing).fill(0), ...(after ?? [])];
  return all.reduce((value, group) => (value << 16n) | BigInt(group), 0n);
}

/** The 16-bit groups of one side of `::`; an IPv4 address may stand at the end of the whole. */
function groupsOf(text: string, ends: boolean): number[] | undefined {
  if (text === '') return [];
  const words = text.split(':');
  const groups: number[] = [];
  for (const [index, word] of words.entries()) {
    if (V6_GROUP.test(word)) groups.push(Number.parseInt(word, 16));
    else {
      const v4 = ends && index === words.length - 1 ? parseV4(word) : undefined;
      if (v4 === undefined) return undefined;
      groups.push(Number(v4 >> 16n), Number(v4 & 0xffffn));
    }
  }
  return groups;
}
